"""The trusted side: asks for probes, compares what comes back, writes the Report."""
