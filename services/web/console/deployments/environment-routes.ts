import type { Context, Hono } from 'hono'
import { readEnvFile } from '../../../platform/crews/crew-env-file.ts'
import type { ReadVariable } from '../../../platform/crews/crew-env-file.ts'
import {
  variableNameProblem,
  variableValueProblem,
} from '../../../platform/crews/crew-variable-fields.ts'
import {
  createVariableSeals,
  deleteCrewVariable,
  listCrewVariables,
  setCrewVariable,
} from '../../../platform/crews/crew-variables.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { recordChange } from '../../api/crews/record-change.ts'
import { managedBox } from '../../managed/marks.ts'
import { environmentPage } from './environment-page.ts'
import { automationPath, getOwnCrew } from './own-crew.ts'
import type { OwnCrew } from '../../api/crews/own-crew.ts'
import { createRoom } from '../frame/room.ts'

interface Setting extends ReadVariable {
  readonly isSecret: boolean
}

/** Serves the page with the environment of a crew. */
export function environmentRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {
    'variable-set': 'The variable is set. It applies from the next deployment on.',
    'variable-deleted': 'The variable is deleted. The next deployment is without it.',
  })
  const show = createShow(sql)
  const set = createSet(deps)
  const path = '/automations/:automationId/environment'

  room.page('viewer', path, async (c) => show(c, await getOwnCrew(c, sql)))

  room.form('editor', path, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const read = (name: string): string => c.var.form.get(name) ?? ''
    const name = read('name').trim()
    // A text area sends its line breaks as those of another system.
    const value = read('value').replaceAll('\r\n', '\n')
    const problem = problemOf({ name, value })
    if (problem) return show(c, crew, { problem, typedName: name.slice(0, 200) })
    return set(c, crew, [{ name, value, isSecret: read('secret') === 'yes' }])
  })

  room.form('editor', `${path}/many`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const found = readEnvFile(c.var.form.get('lines') ?? '')
    if ('problem' in found) return show(c, crew, { problem: found.problem })
    const problem = found.map(problemOf).find((each) => each !== undefined)
    if (problem) return show(c, crew, { problem })
    return set(
      c,
      crew,
      found.map((each) => ({ ...each, isSecret: true })),
    )
  })

  room.form('editor', `${path}/delete`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const name = c.var.form.get('name') ?? ''
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_variable_deleted',
      change: (tx) => deleteCrewVariable(tx, { deploymentId: crew.deploymentId, name }),
      after: { name },
    })
    return c.redirect(`${automationPath(crew.automation)}/environment?notice=variable-deleted`, 303)
  })
  return room.routes
}

interface Refused {
  readonly problem: string
  readonly typedName?: string
}

/** Creates what shows the page, perhaps with a form that was refused. */
const createShow =
  (sql: Database) =>
  async (c: Context<SignedIn>, crew: OwnCrew, refused?: Refused): Promise<Response> => {
    const variables = await listCrewVariables(sql, crew)
    const { session, notice } = c.var
    const ids = variables.map(({ id }) => id)
    const managed = await managedBox('environment_variable', { sql, session }, ids)
    const view = { session, crew, variables, managed, notice, ...refused }
    return c.html(environmentPage(view), refused ? 422 : 200)
  }

/** Creates what sets variables, all or none. */
function createSet({ sql, config }: WebDeps) {
  const seals = createVariableSeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  return async (c: Context<SignedIn>, crew: OwnCrew, given: readonly Setting[]) => {
    const { deploymentId, automation } = crew
    await recordChange({ sql, ...c.var }, automation, {
      action: 'crew_variable_set',
      async change(tx) {
        for (const { name, value, isSecret } of given) {
          const key = { deploymentId, name }
          const stored = isSecret ? { sealedValue: seals.seal(value, key) } : { value }
          await setCrewVariable(tx, key, stored)
        }
      },
      after: { names: given.map(({ name }) => name) },
    })
    return c.redirect(`${automationPath(automation)}/environment?notice=variable-set`, 303)
  }
}

function problemOf({ name, value }: ReadVariable): string | undefined {
  const ofName = variableNameProblem(name)
  if (ofName) return `The name ${JSON.stringify(name.slice(0, 60))} ${ofName}.`
  const ofValue = variableValueProblem(value)
  return ofValue && `The value of ${name} ${ofValue}.`
}
