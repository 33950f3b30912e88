# SPDX-License-Identifier: Apache-2.0
# What bench_service measures beside nvab-service: the same calls by FastAPI, with bodies that are
# checked and then do nothing. uvicorn --app-dir tests/bench fastapi_peer:app
from typing import Dict, List, Optional

from fastapi import FastAPI, Response
from pydantic import BaseModel

app = FastAPI()
sessions: Dict[str, int] = {}


class Entry(BaseModel):
    timestamp: str
    node: str
    message: str


class Observation(BaseModel):
    source: str
    entry_timeseries: List[Entry]


class Workload(BaseModel):
    job_id: str
    cluster: Optional[str] = None
    state: Optional[str] = None
    nodes: List[str] = []


class NewAttributor(BaseModel):
    workload: Workload


@app.post("/v2/attributor", status_code=201)
async def create(body: NewAttributor):
    sessions[body.workload.job_id] = 0
    return {"attributor_id": body.workload.job_id}


@app.post("/v2/attributor/{id}/observation", status_code=201)
async def observe(id: str, body: Observation):
    sessions[id] = sessions.get(id, 0) + len(body.entry_timeseries)
    return {"observation_id": str(sessions[id])}


@app.get("/v2/attributor/{id}/attribution")
async def attribution(id: str):
    return {"outcome": "unknown", "entries": sessions.get(id, 0), "attributions": []}


@app.delete("/v2/attributor/{id}", status_code=204)
async def delete(id: str):
    sessions.pop(id, None)
    return Response(status_code=204)


@app.get("/v2/healthz")
async def healthz():
    return {"status": "ok"}
