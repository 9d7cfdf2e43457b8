// The names of files that have none. The makers of chat demand one, and complain of another field where it is missing
// (openai/openai-agents-python#1513, seen 2026-11).

const NAMELESS = 'unnamed.pdf'

export function printFileName(name: string | undefined): string {
  return name ?? NAMELESS
}

export function findFileName(name: string | undefined): string | undefined {
  return name === NAMELESS ? undefined : name
}
