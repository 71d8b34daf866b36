"""The default method: trust regions with Taylor models, a cooled global model, and the selection between them."""
