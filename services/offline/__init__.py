"""What works without a model: the offline professional and generator. Start at `professional.py`."""

from services.offline.professional import OfflineProfessional

__all__ = ["OfflineProfessional"]
