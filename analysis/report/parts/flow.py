"""How many people arrived, and where they left."""

from analysis.report.rows import Row
from analysis.report.samples import Data
from surveys.monitoring.flow import flow_counts

WHO = {"without": "main", "with": "all", "only": "pilot"}


def counts(data: Data) -> Row:
    return flow_counts(data.study, WHO[data.filters.pilot])
