# Signatures of the compiled core. It checks nothing: its callers pass contiguous, checked arrays.

import numpy as np
from numpy.typing import NDArray

def pair_costs(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    cost: NDArray[np.float64],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
) -> NDArray[np.float64]: ...
