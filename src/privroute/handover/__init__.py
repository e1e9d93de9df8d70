"""Releases as files for other tools: SUMO, MATSim, UXsim, Open Matrix, QGIS. Public."""
