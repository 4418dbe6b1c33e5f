"""Putting text at the end of what a model is sent, for one call, without it entering any history."""

from strands.middleware.stages import InvokeModelContext


def appended(context: InvokeModelContext, text: str) -> InvokeModelContext:
    """Return the context with the text at the end of the last message.

    At the end, and said to be new for each call, so that the provider's cache of the prompt holds up to there. Inside
    the last message, so that speakers still alternate and an answer of a tool stays where it has to be, in front.
    """
    if not context.messages or context.messages[-1]["role"] != "user":
        return context
    last = context.messages[-1]
    # Some providers join texts that stand side by side, which would run this into the user's own words.
    block = f"\n\n{text}" if any("text" in block for block in last["content"]) else text
    told = last.copy()
    told["content"] = [*last["content"], {"text": block}]
    return context.replace(
        messages=[*context.messages[:-1], told], dynamic_trailing_blocks=context.dynamic_trailing_blocks + 1
    )
