"""Appending text to the input of the model, for one call, without changing the history or the agent."""

from strands.middleware.stages import InvokeModelContext


def append_to_last_message(context: InvokeModelContext, text: str) -> InvokeModelContext:
    """Return the context with the text at the end of the last message.

    It is declared as a trailing block that changes with each call, so that the prompt cache of the provider stays
    valid up to there. It is part of the last message, so that the roles still alternate and tool results stay first.
    """
    if not text or not context.messages or context.messages[-1]["role"] != "user":
        return context
    last = context.messages[-1]
    # Some providers join adjacent texts, which would merge this with the words of the user.
    block = f"\n\n{text}" if any("text" in block for block in last["content"]) else text
    last_with_text = last.copy()
    last_with_text["content"] = [*last["content"], {"text": block}]
    return context.replace(
        messages=[*context.messages[:-1], last_with_text], dynamic_trailing_blocks=context.dynamic_trailing_blocks + 1
    )


def append_to_system_prompt(context: InvokeModelContext, text: str) -> InvokeModelContext:
    """Return the context with the text at the end of the system prompt, after a cache point that it ends with.

    So the prompt of the developer stays cached for all users, and what is added for as long as it stays the same.
    """
    if not text:
        return context
    prompt = context.system_prompt
    if prompt is None or isinstance(prompt, str):
        return context.replace(system_prompt=f"{prompt}\n\n{text}" if prompt else text)
    return context.replace(system_prompt=[*prompt, {"text": f"\n\n{text}"}])
