// Calls the service with an Anthropic TypeScript SDK: a JSON call a line in, its JSON outcome a line out.
// package.json installs each major under a name of its own, which whoever runs this puts in.

import { createInterface } from 'node:readline';
import Anthropic from '@anthropic-ai/sdk';

let pauses = [];
const { setTimeout } = globalThis;
// Timers are set by many; the ones of the SDK's `sleep` are the pauses between two attempts.
globalThis.setTimeout = (callback, milliseconds, ...rest) => {
  if (/utils\/sleep\.m?js/.test(new Error().stack)) pauses.push(milliseconds / 1000);
  return setTimeout(callback, milliseconds, ...rest);
};

const METHODS = {
  count: (client, ...call) => client.messages.countTokens(...call),
  'beta count': (client, ...call) => client.beta.messages.countTokens(...call),
  create: (client, ...call) => client.messages.create(...call),
};

// The options of the Python SDK by their names here.
const NAMES = { base_url: 'baseURL', api_key: 'apiKey', auth_token: 'authToken', max_retries: 'maxRetries' };

async function outcomeOf({ client: options, method, body, headers }) {
  const named = Object.entries(options).map(([name, value]) => [NAMES[name], value]);
  const client = new Anthropic(Object.fromEntries(named));
  try {
    const { data, response } = await METHODS[method](client, body, { headers }).withResponse();
    return {
      input_tokens: data.input_tokens,
      request_id: data._request_id,
      headers: Object.fromEntries(response.headers),
    };
  } catch (error) {
    if (!error.status) throw error;
    return {
      error: error.constructor.name,
      status: error.status,
      message: error.message,
      body: error.error,
      request_id: error.requestID,
      headers: Object.fromEntries(error.headers),
    };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  pauses = [];
  console.log(JSON.stringify({ ...(await outcomeOf(JSON.parse(line))), pauses }));
}
