import { installCrew, INSTALL_CREWS, runInWeb } from './cluster-commands.ts'

const IMAGES =
  'With ImagePullBackOff or ErrImagePull, push the image to where the nodes pull from, or correct image.tag and global.image.registry.'

/** Every way a component can fail, with what to do about it. */
export const REMEDIATION = {
  db_unreachable:
    'Check DATABASE_URL or DB_HOST and DB_PORT, the network policy, and whether PostgreSQL runs and takes connections.',
  db_auth_failed:
    'PostgreSQL answers and refuses the login. Check DB_USER and DB_PASSWORD in the platform Secret, and that the pods restarted after it changed.',
  db_timeout:
    'The database accepts no work in time. Check its load and locks, and whether a network policy drops packets on the way.',
  tables_unreadable: `The schema is older than this version, or the database user lacks the right to read. ${runInWeb('migrate')}, and check the grants.`,
  idp_unreachable:
    'Check OIDC_ISSUER_URL, DNS, and that the cluster may reach the identity provider (egress policy, HTTPS_PROXY with NODE_USE_ENV_PROXY=1, NODE_EXTRA_CA_CERTS).',
  idp_http_error:
    'The provider answers, but not at its discovery endpoint. Check that OIDC_ISSUER_URL is the issuer itself, without /.well-known, and is not redirected.',
  idp_issuer_mismatch:
    'Set OIDC_ISSUER_URL to the issuer that the discovery document names; tokens of any other are refused.',
  idp_document_incomplete:
    'The discovery endpoint answers, and sign-in finds no issuer and keys there. Check that OIDC_ISSUER_URL is the issuer itself, without /.well-known.',
  route_not_mounted:
    'This image does not serve that route. Deploy an image of the same version as the chart.',
  internal_org_missing: `${runInWeb('designer:install_internal_organization')}.`,
  agent_install_incomplete: installCrew('designer:agent:install'),
  runner_install_incomplete: installCrew('designer:runner:install'),
  crew_pods_unready: `Look at the Deployment with kubectl describe. One that is missing comes back as follows. ${INSTALL_CREWS}.`,
  rbac_forbidden:
    'Let the service account of web get and list apps/v1 Deployments in that namespace: set rbac.create to true, or create the Role and its binding.',
  no_service_account_token:
    'The pod has no service account token. Set automountServiceAccountToken to true on the web pods.',
  k8s_api_unreachable:
    'Check that web may reach the Kubernetes API: egress policy, certificate authority, load of the API server. After HTTP 401 restart the pod, which gives it a new token.',
  deployments_unready: `\`kubectl -n {namespace} get deployments,pods\` shows them; \`kubectl -n {namespace} describe deployment NAME\` and \`kubectl -n {namespace} logs deployment/NAME\` say more. ${IMAGES} A Deployment that is scaled to zero counts as down; one with more Ready pods than desired is in a rollout: run the check again when it is over.`,
  rollout_stuck: `\`kubectl -n {namespace} describe deployment NAME\` and the events of its pods say why. ${IMAGES} \`helm rollback {release} -n {namespace}\` returns to the version before.`,
  tool_repository_missing: `${runInWeb('tools:install_public_repository')}.`,
  collector_unreachable:
    'Check COLLECTOR_URL, the collector pods and the network policy. Traces are lost meanwhile; runs are not.',
  collector_unrecognized:
    'Something answers at COLLECTOR_URL that does not look like the trace collector. Check that COLLECTOR_URL is the address of its Service.',
  oauth_key_missing:
    'Set PLATFORM_OAUTH_API_KEY on this pod: it comes from the platform Secret. Restart the pod after the Secret is right.',
  oauth_unreachable:
    'Check PLATFORM_OAUTH_API_BASE_URL, the pods of the OAuth service and the network policy.',
  oauth_http_error:
    'The OAuth service is reachable and cannot serve. Look at its logs and at its database.',
  llm_missing_credentials:
    'Set the missing variables on the web pods, give the connections keys of their own, or remove them.',
  llm_provider_unsupported:
    'Give the connection the base URL of an OpenAI-compatible endpoint, such as a gateway in front of the provider, or remove it.',
  llm_unreachable:
    'Check that the cluster may reach the providers: egress policy, HTTPS_PROXY with NODE_USE_ENV_PROXY=1, DNS.',
  timeout:
    'The check did not end in time. Run it again; if it stays so, look at the load of this pod.',
  check_failed:
    'The check itself failed, which is a mistake in this program. Report it together with this report.',
} as const satisfies Record<string, string>

export type FailureCode = keyof typeof REMEDIATION
