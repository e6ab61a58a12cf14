import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WebApp } from '../../../../services/web/context.ts'
import { designerCheck } from '../../../../services/web/diagnostics/checks/designer.ts'
import { toolsCheck } from '../../../../services/web/diagnostics/checks/tools.ts'
import { routesOf } from '../../../../services/web/diagnostics/mounted-routes.ts'
import type { Surface } from '../../../../services/web/diagnostics/mounted-routes.ts'
import { codeOf } from './support/clinic.ts'
import { startTown } from './support/town.ts'
import type { Town } from './support/town.ts'

const SURFACES: readonly Surface[] = ['designer', 'toolsIndex']

/** Which surfaces a router has that was filled in this way. */
function mounted(fill: (app: Hono<WebApp>) => void): Surface[] {
  const app = new Hono<WebApp>()
  fill(app)
  return SURFACES.filter(routesOf(app))
}

describe('what the router is asked (SPEC 2.3)', () => {
  it('is whether a handler is there, directly or in a part of its own', () => {
    expect(mounted((app) => app.get('/designer/v2/projects', (c) => c.text('')))).toEqual([
      'designer',
    ])
    const part = new Hono<WebApp>().get('/simple/:name/', (c) => c.text(''))
    expect(mounted((app) => app.route('/tools', part))).toEqual(['toolsIndex'])
  })

  it('is not satisfied by its neighbours', () => {
    const found = mounted((app) => {
      app.use('/designer/v2/*', async (_, next) => next())
      app.post('/designer/v2/projects', (c) => c.text(''))
      app.get('/designer/v20', (c) => c.text(''))
      app.get('/designer', (c) => c.text(''))
      app.get('/tools/simpler/', (c) => c.text(''))
    })
    expect(found).toEqual([])
  })
})

describe('an image without the routes', () => {
  let town: Town

  beforeAll(async () => {
    town = await startTown()
  })

  afterAll(() => town.stop())

  const isMounted = (): boolean => false
  const context = () => ({ signal: new AbortController().signal, sql: town.sql })

  it('fails the designer, whose other layers are looked at all the same', async () => {
    const surroundings = { isMounted, kubernetes: undefined, crewNamespace: undefined }
    const result = await designerCheck(surroundings).run(context())
    expect(result.error).toBe('designer route /designer/v2 not mounted')
    expect(codeOf(result)).toBe('route_not_mounted')
    expect(result.checks).toEqual([
      'project_table_readable',
      'agent_install_complete',
      'runner_install_complete',
    ])
  })

  it('fails the tools', async () => {
    const result = await toolsCheck(isMounted).run(context())
    expect(result.error).toBe('tools index route not mounted')
    expect(codeOf(result)).toBe('route_not_mounted')
  })
})
