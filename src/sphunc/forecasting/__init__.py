"""What SphUnc and the baselines share: predictive distributions, forecasts, training, calibration, storage."""

from sphunc.forecasting.arguments import (
    check_callbacks,
    check_data,
    check_device,
    check_folder,
    origin_position,
    writable_folder,
)
from sphunc.forecasting.calendar import time_label
from sphunc.forecasting.conformal import conformal_scores
from sphunc.forecasting.distribution import (
    NORMAL,
    Categorical,
    Gaussian,
    PredictiveDistribution,
    Tails,
    concatenate,
    pool,
)
from sphunc.forecasting.forecast import Forecast
from sphunc.forecasting.frames import column_ends, id_column, probability_columns, time_column
from sphunc.forecasting.identifiers import canonical_order, decode_id, encode_id
from sphunc.forecasting.progress import ProgressBar, StageRecord
from sphunc.forecasting.schema import TrainingSchema, align, decode_schema, encode_schema, schema_of
from sphunc.forecasting.scoring import METRICS, mean_score
from sphunc.forecasting.simple import class_forecasts, number_forecasts
from sphunc.forecasting.storage import has_bundle, read_bundle, remove_bundle, write_bundle
from sphunc.forecasting.training import TOTAL, TrainingEpoch, train

__all__ = [
    "METRICS",
    "NORMAL",
    "TOTAL",
    "Categorical",
    "Forecast",
    "Gaussian",
    "PredictiveDistribution",
    "ProgressBar",
    "StageRecord",
    "Tails",
    "TrainingEpoch",
    "TrainingSchema",
    "align",
    "canonical_order",
    "check_callbacks",
    "check_data",
    "check_device",
    "check_folder",
    "class_forecasts",
    "column_ends",
    "concatenate",
    "conformal_scores",
    "decode_id",
    "decode_schema",
    "encode_id",
    "encode_schema",
    "has_bundle",
    "id_column",
    "mean_score",
    "number_forecasts",
    "origin_position",
    "pool",
    "probability_columns",
    "read_bundle",
    "remove_bundle",
    "schema_of",
    "time_column",
    "time_label",
    "train",
    "writable_folder",
    "write_bundle",
]
