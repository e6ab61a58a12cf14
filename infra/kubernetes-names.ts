// What Kubernetes takes for a name. Patterns are read by JavaScript here and by RE2 in Helm: only
// what both understand alike.

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'

/** A host name: labels of up to 63 characters, with dots between. */
export const DOMAIN = `${LABEL}(\\.${LABEL})*`

/** The texts of letters, digits, dots and dashes that are no domain name. */
export const NO_DOMAIN = /\.\.|\.-|-\./

/** The name of another Kubernetes object. */
export const OBJECT_NAME = {
  pattern: /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/,
  except: NO_DOMAIN,
  expected: 'the name of a Kubernetes object',
}

const PREFIX_FAULT = '^[^/]*(\\.\\.|\\.-|-\\.)[^/]*/'

/** The key of a label or an annotation. */
export const LABEL_KEY = {
  pattern:
    /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
  except: new RegExp(PREFIX_FAULT),
  expected: 'a key such as "example.com/role"',
}

/**
 * The same, but none of those that the chart sets itself; a second one of the same name would be no
 * valid YAML.
 */
export const FOREIGN_KEY = {
  ...LABEL_KEY,
  except: new RegExp(`${PREFIX_FAULT}|^(app\\.kubernetes\\.io|checksum|prometheus\\.io|platform)/`),
}

/** The same for what all objects have, some of which have more keys of the chart's. */
export const OWN_KEY = {
  ...LABEL_KEY,
  except: new RegExp(
    `${PREFIX_FAULT}|^(app\\.kubernetes\\.io|checksum|prometheus\\.io|platform|helm\\.sh` +
      '|argocd\\.argoproj\\.io|pod-security\\.kubernetes\\.io)/',
  ),
  expected: 'a key such as "example.com/team" that the chart does not set itself',
}

/** The value of a label. */
export const LABEL_VALUE = {
  pattern: /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/,
  expected: 'a label value: up to 63 letters, digits, dots, dashes and underscores',
}

/** The name of a namespace. */
export const NAMESPACE = {
  pattern: new RegExp(`^${LABEL}$`),
  expected: 'the name of a namespace',
}

/** A text without a rule. */
export const ANY_TEXT = { pattern: /^/, expected: 'a string' }
