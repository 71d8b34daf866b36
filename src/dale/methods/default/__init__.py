"""The default method: trust regions with Taylor models, a cooled global model, and the selection between them."""

from dale.methods.default.method import DefaultMethod
from dale.methods.default.settings import GlobalSettings, SelectionSettings, TaylorSettings, TrustRegionSettings

__all__ = ["DefaultMethod", "GlobalSettings", "SelectionSettings", "TaylorSettings", "TrustRegionSettings"]
