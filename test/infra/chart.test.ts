import { describe, expect, it } from 'vitest'
import { contextOf } from '../../infra/render.ts'
import { chart, notes, parseYaml, RELEASE } from './support/platform.ts'

describe('the chart', () => {
  it('says which clusters can run it: sidecars need Kubernetes 1.29', () => {
    const [metadata] = parseYaml(chart.files.get('Chart.yaml') ?? '')
    expect(metadata).toMatchObject({
      apiVersion: 'v2',
      name: 'platform',
      kubeVersion: '>=1.29.0-0',
    })
  })

  it('prints the next commands after an install, with the right names', () => {
    const text = notes(contextOf([], RELEASE))
    expect(text).toContain('get secret demo-secrets')
    expect(text).toContain('port-forward service/demo-web 3000:80')
    expect(text).toContain('envVars.PLATFORM_BASE_URL is still')
  })

  it('names the Secret of the operator, and is content with a real address', () => {
    const overrides = {
      secrets: { existingSecret: 'mine' },
      envVars: { PLATFORM_BASE_URL: 'https://platform.example.com' },
    }
    const text = notes(contextOf([overrides], RELEASE))
    expect(text).toContain('get secret mine')
    expect(text).not.toContain('is still')
  })
})
