"""The obvious counter, to compare with: FastAPI, Mangum, Powertools, boto3 and transformers' AutoTokenizer.

It runs in the environment of locks/obvious.txt, started by bench/cold.py.
"""

import asyncio
import os
from typing import Any

import boto3
from aws_lambda_powertools import Logger, Metrics
from fastapi import FastAPI
from mangum import Mangum
from pydantic import BaseModel
from transformers import AutoTokenizer

asyncio.set_event_loop(asyncio.new_event_loop())
logger = Logger()
metrics = Metrics(namespace="Obvious")
table = boto3.client("dynamodb")
tokenizer: Any = AutoTokenizer.from_pretrained(os.environ["MODEL_DIR"])
app = FastAPI()


class CountRequest(BaseModel):
    """A Messages request, as far as a first version would look."""

    model: str
    system: str
    messages: list[dict[str, Any]]


@app.post("/{path:path}")
def count_tokens(path: str, request: CountRequest) -> dict[str, int]:
    """The number."""
    chat = [{"role": "system", "content": request.system}, *request.messages]
    ids = tokenizer.apply_chat_template(chat, tokenize=True, add_generation_prompt=True, return_dict=False)
    logger.info("counted", extra={"path": path})
    return {"input_tokens": len(ids)}


handler = Mangum(app, lifespan="off")
