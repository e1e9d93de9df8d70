"""The paper's experiments, one module per figure or table, beside what the paper reports."""
