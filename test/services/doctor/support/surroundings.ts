/** Time that passes only by sleeping, and what is said meanwhile. */
export function surroundings() {
  const said: string[] = []
  let [time, naps] = [0, 0]
  return {
    said,
    naps: () => naps,
    say: (text: string) => void said.push(text),
    sleep: async (ms: number) => {
      time += ms
      naps += 1
    },
    now: () => time,
  }
}
