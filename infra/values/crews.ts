import { boolean, group, quantity } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** The crews, and where their pods run. */
export const crews = group('The crews, and where their pods run.', {
  install: boolean(
    true,
    'Install the Assistant and the Runner, the crews of the platform itself, with a Job. ' +
      'Their model is that of `OPENAI_API_KEY` in `envFromSecrets`, and `OPENAI_BASE_URL` ' +
      'in `extraEnvVars`.',
  ),
  namespace: type.namespace(
    '',
    'Namespace of the crews. Empty means one of their own, `<namespace of the ' +
      'release>-crews`, which comes and goes with the release; any other must exist.',
  ),
  namespaceIsolation: boolean(
    false,
    'Each organization has a namespace of its own, `<namespace of the crews>-org-<id>`, ' +
      'which the Job or a worker makes; the Job also sets the feature flag ' +
      '`k8s_namespace_isolation` to this. Job, workers and probe then have their rights in all ' +
      'namespaces, because a Role cannot name those to come; a ValidatingAdmissionPolicy refuses ' +
      'what Job and workers write in any other.',
  ),
  fromSource: boolean(
    true,
    'Let organizations deploy crews of their own from source. The workers then make ' +
      'Deployments where the crews are, for which they need `rbac.create` or the same rights.',
  ),
  pythonImage: type.image(
    'astral/uv',
    '0.11.29-python3.13-bookworm-slim',
    'uv and Python, in which crews from source are installed and run. A `pullSecret` has to be ' +
      'in the namespace of the crews',
  ),
  limits: group('The most that one pod of a crew from source may be given.', {
    cpu: quantity('2', 'CPU.'),
    memory: quantity('4Gi', 'Memory.'),
  }),
  organizationStorage: quantity(
    '10Gi',
    'The most that the sources and images of one organization take together. Of images it counts ' +
      'what they have in common once, and not the cache of builds.',
  ),
})
