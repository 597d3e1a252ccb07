/** Makes text of others harmless to a terminal: a control character becomes a question mark. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '?')
}
