"""What this machine's processor can do with 8-bit numbers."""

from pathlib import Path


def overflows(cpu_info: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether 8-bit products may overflow here: on x86 without VNNI. Where nothing is known they may."""
    try:
        words = set(cpu_info.read_text("utf-8").split())
    except OSError:
        return True
    return "avx2" in words and not words & {"avx512_vnni", "avx_vnni", "amx_int8"}
