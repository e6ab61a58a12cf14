const SUFFIXES: Readonly<Record<string, number>> = {
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
}

/** Returns the number that a quantity of Kubernetes such as `500m` or `2Gi` is; else undefined. */
export function readQuantity(text: string): number | undefined {
  const [, digits = '', suffix = ''] =
    /^(\d{1,15}(?:\.\d{1,9})?)(m|k|[MGT]|[KMGT]i)?$/.exec(text) ?? []
  const factor = SUFFIXES[suffix]
  return digits === '' || factor === undefined ? undefined : Number(digits) * factor
}
