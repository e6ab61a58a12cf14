/**
 * A program behind a proxy: makes one call with each client that leads out of the cluster, and with
 * each that stays inside, and writes what it got as JSON.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import * as v from 'valibot'
import { createLlm } from '../../../../services/shared/models/llm.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { postLines } from '../../../../services/shared/http/post-lines.ts'
import { createKubernetes } from '../../../../services/shared/kubernetes/client.ts'
import { callOauthService } from '../../../../services/shared/oauth-service.ts'
import {
  createForwardProxy,
  proxyEnv,
  routeThrough,
} from '../../../../services/shared/outgoing/forward-proxy.ts'
import { createLlmGuard } from '../../../../services/shared/outgoing/guards.ts'
import { createProviderFetch } from '../../../../services/shared/outgoing/provider-fetch.ts'
import { sendRequest } from '../../../../services/shared/outgoing/send-request.ts'
import { createS3Store } from '../../../../services/shared/object-store/s3-store.ts'
import { readDocument } from '../../../../services/web/gate/access-token/read-document.ts'
import { httpGet } from '../../../../services/web/diagnostics/http-get.ts'
import { callCollector, readText } from '../../../../services/shared/collector-call.ts'

const OUTSIDE = 'https://models.example'
const signal = AbortSignal.timeout(30_000)
const proxy = createForwardProxy(readEnv(v.object(proxyEnv), process.env))
const guard = createLlmGuard([], proxy)
const asker = { subject: 'organization 1', signal }
const place = (path: string): URL => new URL(path, OUTSIDE)

async function callOrganizations(): Promise<string> {
  const url = place('/guarded')
  const route = await guard.pin(url, asker)
  const sent = { url, headers: {}, signal, responseBytesMax: 1000, route }
  return (await sendRequest(sent)).body.toString()
}

async function callProvider(): Promise<string> {
  const fetchFromProvider = createProviderFetch({ name: 'it', timeoutMs: 20_000, proxy })
  const options = { method: 'GET', headers: {}, body: null, redirect: 'manual' } as const
  return (await fetchFromProvider(place('/provider').href, { ...options, signal })).text()
}

async function callModel(): Promise<string> {
  const llm = createLlm({ baseUrl: `${OUTSIDE}/v1`, timeoutMs: 20_000, proxy })
  const answer = await llm.complete({ model: 'm', messages: [] }, signal)
  return answer.ok ? 'ok' : answer.failure.message
}

async function probe(): Promise<number> {
  const route = routeThrough(proxy, place('/'))
  return (await httpGet(place('/'), { signal, bytesMax: 0, route })).status
}

const login = { region: 'r', accessKeyId: 'a', secretAccessKey: 's' }
const store = createS3Store({ ...login, endpoint: OUTSIDE, bucket: 'b', prefix: '', proxy })

/** At an address that is not localhost, where this machine has one: no list exempts it. */
async function startInside() {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{"inside":true}'))
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const own = Object.values(networkInterfaces()).flat()
  const found = own.find((each) => each?.family === 'IPv4' && !each.internal)
  const { port } = server.address() as AddressInfo
  return { server, url: `http://${found?.address ?? '127.0.0.1'}:${port}` }
}

async function readLines(url: string): Promise<string> {
  const { body } = await postLines({ url: new URL(url), token: 't', document: '{}', signal })
  return new Response(body).text()
}

const { server, url: inside } = await startInside()
const questions = { path: '/x', claims: {}, missing: 'none' }
const kubernetes = createKubernetes({ url: inside, credentials: async () => ({}) })
const results = {
  'address of an organization': await callOrganizations(),
  'provider of the operator': await callProvider(),
  'model of the operator': await callModel(),
  'key set': JSON.stringify(await readDocument(place('/keys').href, { guard, ...asker })),
  'probe of the report': await probe(),
  'object store': await store.list(),
  'OAuth service': await callOauthService({ url: inside, apiKey: 'k' }, { path: '/x' }),
  'Kubernetes API': await kubernetes({ method: 'GET', path: '/x' }),
  collector: JSON.parse(
    await readText(
      await callCollector({ collectorUrl: inside, secret: 's'.repeat(32) }, questions, signal),
    ),
  ),
  crew: JSON.parse(await readLines(inside)),
}
server.close()
process.stdout.write(JSON.stringify(results))
