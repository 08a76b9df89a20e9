"""Features of short pieces of signal: EEG band powers, heart rate and its variability, skin conductance."""

from __future__ import annotations

import numpy as np
from scipy import signal

RATE = 128  # samples per second of Data_Preprocessed
BASELINE_SECONDS = 5
CHANNELS = ("AF3", "F7", "F3", "FC5", "T7", "P7", "O1", "O2", "P8", "T8", "FC6", "F4", "F8", "AF4")
ECG = (14, 15)
GSR = 16
BANDS = {"theta": (4.0, 8.0), "alpha": (8.0, 13.0), "beta": (13.0, 30.0), "gamma": (30.0, 45.0)}
HEART = ("heart_rate", "heart_sdnn", "heart_rmssd")
SKIN = ("skin_mean", "skin_sd", "skin_slope", "skin_rises")
FASTEST_BEAT = 0.3  # seconds between R peaks at 200 beats per minute
SKIN_SMOOTHING = 0.5  # seconds; skin responses last longer
SMALLEST_RISE = 0.05  # share of the range of the smoothed signal


def feature_names() -> list[str]:
    """Return the names of the features of a segment, in order."""
    return [f"{channel}_{band}" for channel in CHANNELS for band in BANDS] + [*HEART, *SKIN]


def band_powers(eeg: np.ndarray) -> np.ndarray:
    r"""Logarithm of the mean power density per channel and band, Welch with windows of at most 2 s.

    Args:
        eeg: samples x channels.

    Returns:
        channels x bands; NaN for a channel that has a NaN, is flat, or is shorter than a second.
    """
    samples, channels = eeg.shape
    if samples < RATE:
        return np.full((channels, len(BANDS)), np.nan)
    whole = np.nan_to_num(eeg)
    broken = np.isnan(eeg).any(0) | (np.ptp(whole, axis=0) == 0)
    frequency, density = signal.welch(whole, fs=RATE, nperseg=min(2 * RATE, samples), axis=0)
    powers = [density[(frequency >= low) & (frequency < high)].mean(0) for low, high in BANDS.values()]
    powers = np.stack(powers, axis=1)
    powers[broken] = np.nan
    return np.log(powers)


def r_peaks(ecg: np.ndarray) -> np.ndarray:
    """Return the sample indices of the R peaks: band-pass 5-20 Hz, slope, square, smooth, peaks above half the typical.

    The QRS complex is the steepest part of the heart beat, so that neither the sign of the lead nor its drift matters.
    """
    band_pass = signal.butter(2, (5, 20), "bandpass", fs=RATE, output="sos")
    slope = np.gradient(signal.sosfiltfilt(band_pass, ecg))
    width = RATE // 10
    energy = np.convolve(slope**2, np.ones(width) / width, mode="same")
    distance = int(FASTEST_BEAT * RATE)
    peaks, _ = signal.find_peaks(energy, distance=distance)
    if len(peaks) < 2:
        return peaks
    typical = np.percentile(energy[peaks], 75)
    peaks, _ = signal.find_peaks(energy, distance=distance, height=0.3 * typical)
    return peaks


def heart(ecg: np.ndarray) -> np.ndarray:
    """Beats per minute, SDNN and RMSSD in milliseconds, from the first lead that is whole; NaN with under 3 beats."""
    unknown = np.full(len(HEART), np.nan)
    usable = [lead for lead in ecg.T if not np.isnan(lead).any() and np.ptp(lead) > 0]
    if not usable or len(usable[0]) < 2 * RATE:
        return unknown
    intervals = np.diff(r_peaks(usable[0])) / RATE
    if len(intervals) < 2:
        return unknown
    changes = np.diff(intervals)
    return np.array([60 / intervals.mean(), 1000 * intervals.std(), 1000 * np.sqrt(np.mean(changes**2))])


def skin(gsr: np.ndarray) -> np.ndarray:
    """Mean, standard deviation, slope per second, and number of rises per minute; NaN for a broken channel."""
    if np.isnan(gsr).any() or len(gsr) < RATE:
        return np.full(len(SKIN), np.nan)
    seconds = np.arange(len(gsr)) / RATE
    slope = np.polyfit(seconds - seconds.mean(), gsr, 1)[0]
    width = int(SKIN_SMOOTHING * RATE)
    smooth = np.convolve(gsr, np.ones(width) / width, mode="valid")
    rises = 0
    if np.ptp(smooth) > 0:
        rises = len(signal.find_peaks(smooth, prominence=SMALLEST_RISE * np.ptp(smooth))[0])
    return np.array([gsr.mean(), gsr.std(), slope, 60 * rises / seconds[-1]])


def segment_features(samples: np.ndarray) -> np.ndarray:
    """Return the features of one piece of ``joined_data``, samples x 17, in the order of :func:`feature_names`."""
    powers = band_powers(samples[:, : len(CHANNELS)]).ravel()
    return np.concatenate([powers, heart(samples[:, list(ECG)]), skin(samples[:, GSR])])


def video_features(samples: np.ndarray, seconds: int, *, baseline: bool) -> np.ndarray:
    """Return the features of each segment after the 5 s baseline, segments x features.

    A last piece shorter than half a segment is left out, unless it is all there is.

    Args:
        samples: ``joined_data`` of a video, samples x 17.
        seconds: length of a segment.
        baseline: subtract the log powers of the baseline, channel by channel, to get the change that the film made.
    """
    before, film = np.split(samples, [BASELINE_SECONDS * RATE])
    length = seconds * RATE
    starts = [start for start in range(0, len(film), length) if start == 0 or len(film) - start >= length / 2]
    found = np.stack([segment_features(film[start : start + length]) for start in starts])
    if baseline:
        rest = band_powers(before[:, : len(CHANNELS)]).ravel()
        found[:, : len(rest)] -= np.where(np.isnan(rest), 0.0, rest)
    return found
