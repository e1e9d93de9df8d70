#define PRIVROUTE_LANES 4
#define PRIVROUTE_KERNEL project_lanes_avx2
#include "projection_lanes.hpp"
