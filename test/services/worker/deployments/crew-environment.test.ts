import { expect, it } from 'vitest'
import { createCrewEnvironment } from '../../../../services/worker/deployments/crew-environment.ts'
import { SECRET_KEY_BASE } from '../harness.ts'
import { wantedCrew } from './crew-projects.ts'

const deps = { secretKeyBase: SECRET_KEY_BASE, drainSeconds: 5 }

it('has the model of the platform where a crew names none of its own', async () => {
  const modelUrl = 'http://127.0.0.1:4308/v1'
  const model = async (variables: Record<string, string>, given: { modelUrl?: string }) => {
    const crew = wantedCrew({}, { variables })
    const environment = await createCrewEnvironment({ ...deps, ...given }, crew)
    const { OPENAI_BASE_URL, OPENAI_API_KEY } = environment.variables
    return [OPENAI_BASE_URL, OPENAI_API_KEY]
  }
  expect(await model({}, { modelUrl })).toEqual([modelUrl, 'none'])
  const own = { OPENAI_BASE_URL: 'https://models.example/v1', OPENAI_API_KEY: 'sk-theirs' }
  expect(await model(own, { modelUrl })).toEqual(['https://models.example/v1', 'sk-theirs'])
  expect(await model({}, {})).toEqual([undefined, undefined])
})

it('lets no variable take the place of what the platform calls it with', async () => {
  const crew = wantedCrew({}, { variables: { CREW_TOKEN: 'mine', OTEL_SERVICE_NAME: 'mine' } })
  const { variables, secrets } = await createCrewEnvironment(deps, crew)
  expect(variables['CREW_TOKEN']).not.toBe('mine')
  expect(secrets).toContain(variables['CREW_TOKEN'])
  expect(variables['OTEL_SERVICE_NAME']).toBe('mine')
})
