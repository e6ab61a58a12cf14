import { describe, expect, it } from 'vitest'
import { contextOf } from '../../infra/render.ts'
import { CHECKS } from './support/kubernetes-schema.ts'
import { chart, chartTestPod, notes, parseYaml, RELEASE } from './support/platform.ts'
import { restrictedViolations } from './support/pod-security.ts'

describe('the chart', () => {
  it('says which clusters can run it: AppArmor fields need Kubernetes 1.30', () => {
    const [metadata] = parseYaml(chart.files.get('Chart.yaml') ?? '')
    expect(metadata).toMatchObject({
      apiVersion: 'v2',
      name: 'platform',
      kubeVersion: '>=1.30.0-0',
    })
  })

  it('prints the next commands after an install, with the right names', () => {
    const text = notes(contextOf([], RELEASE))
    expect(text).toContain('exec deployment/demo-web -- node build/tasks/main.js users:create')
    expect(text).toContain('port-forward service/demo-web 3000:80')
    expect(text).toContain('helm test demo --namespace prod')
    expect(text).toContain('envVars.PLATFORM_BASE_URL is still')
  })

  it('has a pod for helm test that asks web for its health, within Pod Security "restricted"', () => {
    const pod = chartTestPod(contextOf([], RELEASE))
    expect(pod.metadata.annotations['helm.sh/hook']).toBe('test')
    expect(pod.spec.containers[0].env[0].value).toBe('http://demo-web:80')
    expect(restrictedViolations('test', pod)).toEqual([])
    for (const check of Object.values(CHECKS)) expect(check(pod)).toEqual([])
  })

  it('is content with a real address', () => {
    const overrides = {
      envVars: { PLATFORM_BASE_URL: 'https://platform.example.com' },
      oauth: { publicUrl: 'https://oauth.example.com' },
    }
    const text = notes(contextOf([overrides], RELEASE))
    expect(text).not.toContain('is still')
  })
})
