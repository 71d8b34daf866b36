"""What a method of a user's own has to declare, for methods of tests."""

from dale.methods.base import Capabilities


class UserMethod:
    name = "test"
    revision = 1
    capabilities = Capabilities()

    def changed_settings(self):
        return {}
