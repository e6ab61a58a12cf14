import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WebApp } from '../../../../services/web/context.ts'
import type { Surroundings } from '../../../../services/web/diagnostics/check.ts'
import { CHECKS } from '../../../../services/web/diagnostics/checks/list.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { webEnv } from '../../../../services/web/env.ts'
import { routesOf } from '../../../../services/web/diagnostics/mounted-routes.ts'
import { openPlatform, environment } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'
import { codeOf, install } from './support/web.ts'

let platform: Platform

beforeAll(async () => {
  platform = await openPlatform()
  await install(platform.sql)
})

afterAll(() => platform.close())

const context = () => ({ signal: new AbortController().signal, sql: platform.sql })

describe('the routes that the report asks for (SPEC 2.3)', () => {
  it('are those of the app: the designer and the tools index', () => {
    const isMounted = routesOf(platform.app)
    expect(isMounted('designer')).toBe(true)
    expect(isMounted('toolsIndex')).toBe(true)
  })

  it('are not there for a guard, another method or a similar path alone', () => {
    const app = new Hono<WebApp>()
    app.use('/designer/v2/*', async (_c, next) => next())
    app.post('/designer/v2/projects', (c) => c.text('x'))
    app.get('/designer/v20', (c) => c.text('x'))
    app.use('/tools/public/simple/', async (_c, next) => next())
    app.get('/simpler', (c) => c.text('x'))
    expect(routesOf(app)('designer')).toBe(false)
    expect(routesOf(app)('toolsIndex')).toBe(false)
  })

  it('fail their component when an image lacks them', async () => {
    const surroundings: Surroundings = {
      config: readEnv(webEnv, environment(platform.url)),
      pod: 'web-1',
      readVariable: () => undefined,
      providerUrls: {},
      kubernetes: undefined,
      schemaVersion: undefined,
      isMounted: routesOf(new Hono<WebApp>()),
    }
    const designer = await CHECKS.designer.run(context(), surroundings)
    expect(codeOf(designer)).toBe('route_not_mounted')
    expect(designer.error).toMatch(/^designer route \/designer\/v2 not mounted$/)
    const tools = await CHECKS.tools.run(context(), surroundings)
    expect(codeOf(tools)).toBe('route_not_mounted')
    expect(tools.error).toMatch(/^tools index route not mounted$/)
    expect(tools.checks).toEqual(['public_repository_provisioned'])
  })
})
