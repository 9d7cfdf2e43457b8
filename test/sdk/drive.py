# Makes the official libraries do what their users have them do: reads a line of JSON, does what it says, and prints what
# came of it as a line of JSON. Nothing of a library is changed but its address and how often it tries again by itself.
import base64
import json
import sys
import tempfile
from pathlib import Path

import anthropic
import openai

TOOL = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def openai_at(words):
    return openai.OpenAI(base_url=words["url"] + "/v1", api_key=words["key"], max_retries=0)


def anthropic_at(words):
    return anthropic.Anthropic(base_url=words["url"], api_key=words["key"], max_retries=0)


def weather(city):
    return "sunny in " + city


def chat(words):
    messages = [{"role": "user", "content": words["text"]}]
    answer = openai_at(words).chat.completions.create(model=words["model"], messages=messages)
    return {"text": answer.choices[0].message.content, "tokens": answer.usage.total_tokens}


def chat_stream(words):
    messages = [{"role": "user", "content": words["text"]}]
    pieces = []
    with openai_at(words).chat.completions.stream(
        model=words["model"], messages=messages, stream_options={"include_usage": True}
    ) as stream:
        for event in stream:
            if event.type == "content.delta":
                pieces.append(event.delta)
        answer = stream.get_final_completion()
    return {"text": "".join(pieces), "tokens": answer.usage.total_tokens}


def chat_tool(words):
    client = openai_at(words)
    function = {"name": "weather", "description": "Tells the weather", "parameters": TOOL}
    tools = [{"type": "function", "function": function}]
    messages = [{"role": "user", "content": words["text"]}]
    while True:
        answer = client.chat.completions.create(
            model=words["model"], messages=messages, tools=tools
        )
        message = answer.choices[0].message
        if answer.choices[0].finish_reason != "tool_calls":
            return {"text": message.content}
        messages.append(message)
        for call in message.tool_calls:
            content = weather(json.loads(call.function.arguments)["city"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def embed(words):
    rest = {"encoding_format": words["format"]} if "format" in words else {}
    answer = openai_at(words).embeddings.create(model=words["model"], input=words["input"], **rest)
    vectors = [each.embedding for each in answer.data]
    return {"vectors": vectors, "tokens": answer.usage.prompt_tokens}


def hear(words):
    rest = {"response_format": words["format"]} if "format" in words else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "talk.wav"
        path.write_bytes(base64.b64decode(words["sound"]))
        # By its path, as an open file, and as bytes with a name.
        with path.open("rb") as file:
            ways = {"path": path, "file": file, "bytes": ("talk.wav", path.read_bytes())}
            answer = openai_at(words).audio.transcriptions.create(
                model=words["model"], file=ways[words["way"]], **rest
            )
    return {"text": answer if isinstance(answer, str) else answer.text}


def speak(words):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.mp3"
        with openai_at(words).audio.speech.with_streaming_response.create(
            model=words["model"], voice="alloy", input=words["text"]
        ) as response:
            response.stream_to_file(path)
        return {"sound": base64.b64encode(path.read_bytes()).decode()}


def message(words):
    messages = [{"role": "user", "content": words["text"]}]
    answer = anthropic_at(words).messages.create(
        model=words["model"], max_tokens=100, messages=messages
    )
    return {"text": answer.content[0].text, "stop": answer.stop_reason}


def message_stream(words):
    messages = [{"role": "user", "content": words["text"]}]
    with anthropic_at(words).messages.stream(
        model=words["model"], max_tokens=100, messages=messages
    ) as stream:
        text = "".join(stream.text_stream)
        answer = stream.get_final_message()
    return {"text": text, "stop": answer.stop_reason}


def message_tool(words):
    client = anthropic_at(words)
    tools = [{"name": "weather", "description": "Tells the weather", "input_schema": TOOL}]
    messages = [{"role": "user", "content": words["text"]}]
    while True:
        answer = client.messages.create(
            model=words["model"], max_tokens=100, messages=messages, tools=tools
        )
        if answer.stop_reason != "tool_use":
            return {"text": answer.content[0].text}
        messages.append({"role": "assistant", "content": answer.content})
        results = [
            {"type": "tool_result", "tool_use_id": each.id, "content": weather(each.input["city"])}
            for each in answer.content
            if each.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})


WORKS = [
    chat, chat_stream, chat_tool, embed, hear, speak, message, message_stream, message_tool,
]  # fmt: skip
BY_NAME = {work.__name__: work for work in WORKS}


def problem_of(error):
    body = error.body if isinstance(error.body, dict) else {}
    # The one library hands out the whole envelope, the other what is in it.
    inner = body.get("error", body)
    return {"class": type(error).__name__, "status": error.status_code, "code": inner.get("code")}


for line in sys.stdin:
    words = json.loads(line)
    try:
        told = BY_NAME[words["work"]](words)
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        told = {"problem": problem_of(error)}
    except Exception as error:  # Whatever it is, whoever waits is to see it.
        told = {"broken": repr(error)}
    print(json.dumps(told), flush=True)
