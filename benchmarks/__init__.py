"""What Hangar costs, as ratios from one run."""
