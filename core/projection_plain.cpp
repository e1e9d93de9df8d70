#define PRIVROUTE_LANES 4
#define PRIVROUTE_KERNEL project_lanes_plain
#include "projection_lanes.hpp"
