import { join } from 'node:path'
import {
  authority,
  authorityKey,
  certificateOf,
  keyOf,
  makeCertificates,
  serviceAccountKey,
} from './certificates.ts'
import { startContainerd, startKubelet } from './node.ts'
import { kubeconfigOf, programOf, startPart, waitForPart, writeConfig } from './parts.ts'
import { network, places } from './places.ts'

const USERS = ['admin', 'kubelet', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy']

/**
 * Starts what does not run of the control plane and the node, and waits until each part answers.
 */
export async function startKubernetes(): Promise<void> {
  await makeCertificates()
  for (const user of USERS) writeConfig(kubeconfigOf(user), kubeconfig(user))
  startPart('etcd', ETCD)
  startPart('kube-apiserver', API_SERVER)
  await waitForPart('kube-apiserver', [programOf('kubectl'), 'get', '--raw', '/readyz'])
  startPart('kube-controller-manager', CONTROLLER_MANAGER)
  startPart('kube-scheduler', SCHEDULER)
  await startContainerd()
  await startKubelet()
  writeConfig(join(places.config, 'kube-proxy.json'), PROXY_CONFIG)
  startPart('kube-proxy', [`--config=${join(places.config, 'kube-proxy.json')}`, '--v=1'])
}

const kubeconfig = (user: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'bed',
  contexts: [{ name: 'bed', context: { cluster: 'bed', user } }],
  clusters: [
    {
      name: 'bed',
      cluster: {
        server: `https://${network.nodeAddress}:6443`,
        'certificate-authority': authority,
      },
    },
  ],
  users: [
    {
      name: user,
      user: { 'client-certificate': certificateOf(user), 'client-key': keyOf(user) },
    },
  ],
})

const ETCD = [
  `--data-dir=${join(places.state, 'etcd')}`,
  '--listen-client-urls=http://127.0.0.1:2379',
  '--advertise-client-urls=http://127.0.0.1:2379',
  '--listen-peer-urls=http://127.0.0.1:2380',
  '--unsafe-no-fsync',
  '--log-level=error',
]

const API_SERVER = [
  '--etcd-servers=http://127.0.0.1:2379',
  '--secure-port=6443',
  `--advertise-address=${network.nodeAddress}`,
  `--service-cluster-ip-range=${network.services}`,
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  // A step assigns users and groups to pods by such a policy.
  '--feature-gates=MutatingAdmissionPolicy=true',
  '--runtime-config=admissionregistration.k8s.io/v1beta1=true',
  '--allow-privileged',
  `--tls-cert-file=${certificateOf('apiserver')}`,
  `--tls-private-key-file=${keyOf('apiserver')}`,
  `--client-ca-file=${authority}`,
  '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
  `--service-account-key-file=${serviceAccountKey}`,
  `--service-account-signing-key-file=${serviceAccountKey}`,
  `--kubelet-certificate-authority=${authority}`,
  `--kubelet-client-certificate=${certificateOf('kubelet-client')}`,
  `--kubelet-client-key=${keyOf('kubelet-client')}`,
  '--kubelet-preferred-address-types=InternalIP',
  `--requestheader-client-ca-file=${authority}`,
  '--requestheader-allowed-names=aggregator',
  '--requestheader-username-headers=X-Remote-User',
  '--requestheader-group-headers=X-Remote-Group',
  '--requestheader-extra-headers-prefix=X-Remote-Extra-',
  `--proxy-client-cert-file=${certificateOf('aggregator')}`,
  `--proxy-client-key-file=${keyOf('aggregator')}`,
]

const asItself = (name: string): string[] => [
  `--kubeconfig=${kubeconfigOf(name)}`,
  `--authentication-kubeconfig=${kubeconfigOf(name)}`,
  `--authorization-kubeconfig=${kubeconfigOf(name)}`,
  '--leader-elect=false',
]

const CONTROLLER_MANAGER = [
  ...asItself('kube-controller-manager'),
  '--use-service-account-credentials',
  `--service-account-private-key-file=${serviceAccountKey}`,
  `--root-ca-file=${authority}`,
  `--cluster-signing-cert-file=${authority}`,
  `--cluster-signing-key-file=${authorityKey}`,
]

const SCHEDULER = asItself('kube-scheduler')

const PROXY_CONFIG = {
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  mode: 'iptables',
  clusterCIDR: network.pods,
  hostnameOverride: network.node,
  clientConnection: { kubeconfig: kubeconfigOf('kube-proxy') },
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  // Nodes pull the images of crews from `localhost`.
  iptables: { localhostNodePorts: true },
}
