"""Language models that a build asks: one request, some replies, everything kept.

`chat` is the seam: a ChatClient completes messages. `union` lists the kinds: a server that speaks OpenAI's protocol
(`openai_chat`), a model folder (`local_chat`; copies of it on Ray: `ray_chat`), a function (`function_chat`), and the
answers of an earlier build (`journal`). `asking` keeps every reply in a journal before it is used, so that no request
is paid twice; it also tries again after passing errors, keeps to a rate and to a budget, and counts. `prompts` reads
prompts from data files. Start with `asking`.
"""
