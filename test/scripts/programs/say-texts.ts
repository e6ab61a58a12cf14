const raw = (texts: TemplateStringsArray): string => texts.join('')

process.stdout.write(
  `${['plain … – ä 日本 🙂', raw`tagged … – ä 日本 🙂`, ...process.argv.slice(2)].join('\n')}\n`,
)
// As packages load what they need late.
void import('node:os').then(({ EOL }) => process.stdout.write(`imported${EOL}`))
