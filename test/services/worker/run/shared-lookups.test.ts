import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createLlmConnection } from '../../../../services/platform/connections/llm-connections.ts'
import { createDescribe } from '../../../../services/worker/run/describe-crew.ts'
import { shareConnections } from '../../../../services/worker/run/resolve-models.ts'
import { useOneAutomation } from '../../platform/one-automation.ts'

const at = useOneAutomation()

describe('the connections of an organization', () => {
  it('are listed once for all that ask at a time, and after they asked', async () => {
    const { organizationId } = at.automation
    const fields = { provider: 'openai_compatible', baseUrl: 'https://llm.example', organizationId }
    const connectionsOf = shareConnections(at.sql)
    const [one, other] = [connectionsOf(organizationId), connectionsOf(organizationId)]
    expect(await one).toBe(await other)
    expect(await one).toEqual({ allowedRegions: [], connections: [] })
    await createLlmConnection(at.sql, { ...fields, name: 'main', model: 'm' })
    expect(await connectionsOf(organizationId)).toMatchObject({ connections: [{ name: 'main' }] })
    const none = { allowedRegions: [], connections: [] }
    expect(await connectionsOf(organizationId + 1)).toEqual(none)
  })
})

describe('what crews can do', () => {
  it('is asked once a second at the most, and again when the crew gave no answer', async () => {
    let asked = 0
    const server = createServer((_request, response) => {
      asked += 1
      response.writeHead(asked === 1 ? 503 : 200)
      response.end(JSON.stringify({ contract: 2, name: 'Crew', capabilities: ['journal'] }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    let time = 0
    const ask = createDescribe(() => time)
    const { signal } = new AbortController()
    await expect(ask({ url, signal })).rejects.toThrow('503')
    for (; time < 1000; time += 250) expect(await ask({ url, signal })).toEqual(['journal'])
    expect(asked).toBe(2)
    await ask({ url, signal })
    expect(asked).toBe(3)
    server.closeAllConnections()
    server.close()
  })

  it('is asked once for all that begin together, also where one of them ends', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ask = createDescribe()
    const ended = new AbortController()
    const requested = once(server, 'request')
    const asking = [ended.signal, new AbortController().signal].map((signal) =>
      ask({ url, signal }),
    )
    const [, response] = (await requested) as [unknown, ServerResponse]
    // Another request would get no answer.
    ended.abort(new Error('the run was stopped'))
    await expect(asking[0]).rejects.toThrow('the run was stopped')
    response.end(JSON.stringify({ contract: 2, name: 'Crew', capabilities: ['journal'] }))
    expect(await asking[1]).toEqual(['journal'])
    server.closeAllConnections()
    server.close()
  })
})
