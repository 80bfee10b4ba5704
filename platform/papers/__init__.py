"""What each paper computes, shows and prints: one folder a paper, and what is said of several papers together.

`tic_lm` (Li et al., ACL 2025), `ckl` (Jang et al., ICLR 2022), `evolvingqa` (Kim et al., NAACL 2024) and `temporalwiki`
(Jang et al., EMNLP 2022) do not know one another. `together` knows them all: the headline numbers of every benchmark,
and facts that several of them ask for. Numbers that a paper prints stand in its folder, as YAML.
Start with the folder of the paper.
"""
