"""What makes a guarantee true: sensitivities, the scale of the noise, and the noise itself."""
