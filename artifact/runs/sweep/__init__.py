"""Many runs at once: the plan, its estimate, local workers, Ray."""
