// What the command line does without a gateway: help, words that it does not know, models and files.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createFolder, type Folder } from '../../test/fakes/process.ts'
import { longest, tell } from '../../test/fakes/terminal.ts'
import { kindIds } from '../suppliers/index.ts'
import { FLAGS } from './flags.ts'
import { commands } from './roster.ts'
import { flagsOf } from './words.ts'

let folder: Folder

beforeAll(() => {
  folder = createFolder()
})

afterAll(() => folder[Symbol.dispose]())

describe('help', () => {
  it.each(commands.map((command) => [command.words.join(' '), command] as const))(
    'of %s names every flag and fits 80 columns',
    async (name, command) => {
      const { code, out, err } = await tell([...name.split(' '), '--help'])
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(longest(out)).toBeLessThanOrEqual(80)
      for (const flag of flagsOf(command)) expect(out).toContain(`--${flag}`)
      expect(out).toContain('Examples:\n')
      expect((await tell(['help', ...name.split(' ')])).out).toBe(out)
    },
  )

  it('in general lists every command, every exit code and no line beyond 80 columns', async () => {
    const { code, out } = await tell(['--help'])
    expect(code).toBe(0)
    expect(longest(out)).toBeLessThanOrEqual(80)
    for (const { words, summary } of commands) {
      expect(out).toContain(`  ${words.join(' ')} `)
      expect(out).toContain(summary)
    }
    expect((await tell(['-h'])).out).toBe(out)
  })

  it('speaks of what a command is about', async () => {
    const of = async (line: string): Promise<string> => {
      const { out } = await tell([...line.split(' '), '--help'])
      return out.replaceAll(/\s+/g, ' ')
    }
    for (const group of ['projects', 'wallets', 'tokens', 'keys', 'users', 'accounts'])
      expect(await of(`${group} list`)).not.toContain('HTTP status')
    expect(await of('calls')).toContain('only calls with this HTTP status')
    for (const verb of ['create', 'list', 'update', 'rotate'])
      expect(await of(`tokens ${verb}`)).not.toMatch(/the key (may|is|ends)/)
    expect(await of('wallets create')).not.toContain('none: open end')
    expect(await of('wallets update')).toContain('none: open end')
    expect(await of('wallets credit')).toContain(
      'Usage: gateway wallets credit WALLET_ID --amount USD --reason TEXT [FLAGS]',
    )
  })

  it('has a command for every flag that there is', () => {
    const used = new Set(commands.flatMap((command) => flagsOf(command)))
    for (const flag of Object.keys(FLAGS)) expect([...used]).toContain(flag as keyof typeof FLAGS)
  })
})

describe('what is wrongly written', () => {
  it.each([
    [['kyes', 'list'], 'There is no command "kyes". Did you mean keys?'],
    [['keys', 'crate'], 'There is no command "keys crate". Did you mean keys create?'],
    [['keys'], 'gateway keys needs a second word.'],
    [['keys', 'list', '--jsno'], 'There is no flag --jsno here. Did you mean --json?'],
    [['keys', 'list', '--budget', '3'], 'There is no flag --budget here.'],
    [['--prot', '80'], 'There is no flag --prot here. Did you mean --port?'],
    [['start', '--port', 'http'], '--port takes a number from 0 to 65535'],
    [['keys', 'list', '-x'], 'There is no flag -x here.'],
    [['keys', 'show'], 'gateway keys show needs a KEY_ID'],
    [['keys', 'show', 'one', 'two'], 'takes one KEY_ID, and got "two" as well.'],
    [['reload', 'now'], 'gateway reload takes no argument, and got "now".'],
    [['keys', 'create'], '--name is missing. Write --name NAME.'],
    [['keys', 'create', '--name'], '--name needs a value.'],
    [['keys', 'list', '--json=yes'], '--json takes no value.'],
    [['keys', 'list', '--limit', '1', '--limit=2'], '--limit is given twice.'],
    [['keys', 'list', '--limit', 'many'], '--limit takes a whole number'],
    [['keys', 'create', '--name', 'a', '--budget', '1,50'], '--budget takes dollars'],
    [
      ['keys', 'set', 'key_a', '--budget', '0.0000000001'],
      'at most nine decimals, or none, and got',
    ],
    [['keys', 'create', '--name', 'a', '--metadata', 'plain'], '--metadata takes NAME=VALUE'],
    [['keys', 'create', '--name', 'a', '--period', 'weekly'], '--period takes daily, monthly'],
    [['keys', 'create', '--name', 'a', '--rpm', '0'], '--rpm takes a whole number of requests'],
    [['keys', 'create', '--name', 'a', '--expires', 'yesterday'], '--expires takes a time that is'],
    [['keys', 'set', 'key_a', '--expires', '2020-01-01'], '--expires takes a time that is still'],
    [['keys', 'set', 'key_a', '--expires', '2090-02-30'], '--expires takes a time that is still'],
    [['keys', 'set', 'key_a'], 'Nothing is named to be changed.'],
    [['keys', 'set', 'key_a', '--fit', 'maybe'], '--fit takes on or off'],
    [['keys', 'revoke', 'key_a'], 'Write --yes.'],
    [['calls', '--from', 'yesterday'], '--from takes a time such as'],
    [['calls', '--all', '--limit', '3'], 'Give --all or --limit, not both.'],
    [['reviews', 'show'], 'gateway reviews show needs a REQUEST_ID'],
    [['reviews', 'void', 'req_a'], '--reason is missing. Write --reason TEXT.'],
    [['reviews', 'settle', 'req_a', '--reason', 'x', '--cost', '1,5'], '--cost takes dollars'],
    [['reviews', 'settle', 'a', '--reason', 'x', '--cost', '1e-10'], 'with at most nine decimals'],
    [['reviews', 'void', 'req_a', '--cost', '1'], 'There is no flag --cost here.'],
    [['keys', 'rotate', 'key_a', '--overlap', '31d'], 'at most 30d, or none, and got "31d"'],
    [['projects', 'create', '--name', 'a', '--pin', 'foo'], '--pin takes project, organisation'],
    [['tokens', 'create', '--name', 'a', '--project', 'b', '--team', 'c'], 'not both'],
    [['wallets', 'create'], 'Give one of --project, --user and --account.'],
    [['wallets', 'create', '--account', '--user', 'usr_a'], 'Give one of --project, --user'],
    [['wallets', 'create', '--account', '--period', 'weekly'], '--period takes daily, monthly'],
    [['wallets', 'credit', 'wal_a', '--amount', '1'], '--reason is missing. Write --reason TEXT.'],
    [['payers', '--estimate', 'abc'], '--estimate takes dollars'],
    [['payers', '--project', 'prj_a', '--key-id', 'key_a'], 'Give only one of --project'],
    [['users', 'update', 'usr_a'], 'Nothing is named to be changed.'],
    [['teams', 'end', 'team_a'], 'Nobody is there to ask whether to end this team.'],
    [['accounts', 'create'], '--name is missing. Write --name NAME.'],
  ])('%j is refused with a reason and code 2', async (line, reason) => {
    const { code, out, err } = await tell(line)
    expect(out).toBe('')
    expect(err).toStartWith('error: ')
    expect(err).toContain(reason)
    expect(err).toMatch(/(See `gateway|There are|Write --)/)
    expect(code).toBe(2)
  })

  it('is told to programs as JSON', async () => {
    const { code, out, err } = await tell(['keys', 'crate', '--json'])
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'wrong_usage' }, exit_code: 2 })
  })
})

describe('models', () => {
  it('are listed without a gateway: the demo where there is nothing else', async () => {
    const { code, out } = await tell(['models'], { environment: { GATEWAY_DATA: '/nowhere' } })
    expect(code).toBe(0)
    expect(out).toMatch(/^demo\/chat .*demo \(EU\), demo-backup \(US\)$/m)
  })

  it('are those of the catalogue on request, searched by a part of their id', async () => {
    const list = async (...words: readonly string[]): Promise<readonly { id: string }[]> => {
      const { out } = await tell(['models', '--all', '--json', ...words])
      return (JSON.parse(out) as { data: { id: string }[] }).data
    }
    const all = await list()
    expect(all.length).toBeGreaterThan(20)
    const part = all[3]!.id.slice(1, 5).toUpperCase()
    const found = await list(part)
    expect(found).toEqual(all.filter(({ id }) => id.toUpperCase().includes(part)))
    expect(found.length).toBeLessThan(all.length)
  })
})

describe('models that are searched', () => {
  const write = (name: string, text: string): string => {
    const file = join(folder.path, name)
    writeFileSync(file, text)
    return file
  }

  it('and not found lead a person to the catalogue, and a script to nothing', async () => {
    const file = write('search.yaml', 'demo: true\n')
    const line = ['models', 'gpt-5', '--config', file]
    const seen = await tell(line, { columns: 80 })
    expect(seen.err).toContain('`gateway models --all gpt-5`')
    expect(await tell(line)).toEqual({ code: 0, out: '', err: '' })
  })

  it('of the catalogue are there although the file has problems', async () => {
    const file = write('broken.yaml', 'nonsense: 1\n')
    const { code, out, err } = await tell(['models', '--all', '--config', file])
    expect(code).toBe(0)
    expect(out).toContain('gpt-')
    expect(err).toContain('warning: The configuration has problems')
    expect((await tell(['models', '--config', file])).code).toBe(6)
  })

  it('come with their regions, and with all that these lie in', async () => {
    const file = join(folder.path, 'regions.yaml')
    const supplier = (id: string, region: string): string =>
      `  ${id}: { kind: openai-compatible, origin: 'https://${id}.example.com', region: ${region}, models: { m: { price: free } } }\n`
    const suppliers = supplier('rack', 'fra-dc') + supplier('far', 'US') + supplier('any', 'global')
    writeFileSync(file, `suppliers:\n${suppliers}regions: { fra-dc: DE }\n`)
    const { out } = await tell(['models', '--config', file])
    expect(out).toContain('rack (FRA-DC), far (US), any (global)')
    const machine = await tell(['models', '--config', file, '--json'])
    expect(JSON.parse(machine.out)).toMatchObject({
      data: [{ id: 'm', regions: ['FRA-DC', 'DE', 'EU', 'EEA', 'US'] }],
    })
  })

  it('come with their other names, and a name that leads nowhere is a problem of the file', async () => {
    const names = 'aliases: { quick: demo/chat, first: demo/demo/chat }\n'
    const file = write('names.yaml', `demo: true\n${names}`)
    const { out } = await tell(['models', '--config', file])
    expect(out).toMatch(/^quick .* another name for demo\/chat$/m)
    expect(out).toMatch(/^first .* another name for demo\/demo\/chat$/m)
    const machine = await tell(['models', 'quick', '--config', file, '--json'])
    expect(JSON.parse(machine.out)).toMatchObject({ data: [{ alias_of: 'demo/chat' }] })
    const broken = write('lost.yaml', 'demo: true\naliases: { quick: demo/chatt }\n')
    const told = await tell(['config', 'check', broken])
    expect(told.code).toBe(6)
    expect(told.err).toContain('aliases.quick  leads to no model that is served (did you mean')
    const native = write('native.yaml', 'demo: true\nauto: { models: [demo/native] }\n')
    const alone = await tell(['config', 'check', native])
    expect([alone.code, alone.err]).toEqual([6, expect.stringContaining('native agents alone')])
  })

  it('have suppliers whose regions are doubted where nobody knows them', async () => {
    const file = write(
      'strange.yaml',
      'suppliers:\n  rack: { kind: ollama, region: swedencentrall }\n',
    )
    const { code, err } = await tell(['config', 'check', file])
    expect(code).toBe(0)
    expect(err).toContain('strange.yaml:2:')
    expect(err.replaceAll(/\s+/g, ' ')).toContain('(did you mean SWEDENCENTRAL?)')
  })

  it('name as suppliers none that no file could name', async () => {
    const { out } = await tell(['models', '--all', '--json'])
    const { data } = JSON.parse(out) as { data: { suppliers: string[] }[] }
    const named = new Set(data.flatMap(({ suppliers }) => suppliers))
    expect([...named].filter((id) => !kindIds.includes(id))).toEqual([])
  })
})

describe('the configuration file', () => {
  const write = (name: string, text: string): string => {
    const file = join(folder.path, name)
    writeFileSync(file, text)
    return file
  }

  it('is good, and the check says what it makes', async () => {
    const file = write('good.yaml', 'demo: true\n')
    const { code, out, err } = await tell(['config', 'check', file])
    expect(err).toBe('')
    expect(code).toBe(0)
    expect(out).toBe(`${file} is good: the demo suppliers.\n`)
    const machine = await tell(['config', 'check', '--config', file, '--json'])
    expect(JSON.parse(machine.out)).toMatchObject({ file, demo: true, warnings: [] })
  })

  it('is counted as a start would have it: the demo, and servers of any model', async () => {
    const local = 'suppliers:\n  lab: { kind: ollama }\n'
    const check = async (text: string) =>
      (await tell(['config', 'check', write('counted.yaml', text)])).out.split(' is good: ')[1]
    expect(await check(local)).toBe('1 supplier, any model of lab.\n')
    expect(await check(`demo: true\n${local}`)).toMatch(
      /^1 supplier and the demo, \d+ models, any model of lab\.\n$/,
    )
  })

  it('has all faults of its suppliers told at once, with a guess at what was meant', async () => {
    const file = write(
      'models.yaml',
      `suppliers:
  main:
    kind: openai
    origin: http://localhost
    models: { gpt4o: {}, zzz-unknown: {}, yyy-unknown: {} }
  other:
    kind: openai
    credential: x
    region: MARS
`,
    )
    const { code, err } = await tell(['config', 'check', file])
    expect(code).toBe(6)
    expect(err).toContain('has 6 problems')
    for (const place of ['gpt4o.price', 'zzz-unknown.price', 'main.origin', 'main.credential'])
      expect(err).toContain(place)
    expect(err).toContain('suppliers.other.region')
    expect(err).toContain('did you mean gpt-4o?')
  })

  it('has its problems wrapped at words for a person and on one line for a script', async () => {
    const file = write('long.yaml', 'suppliers:\n  main:\n    kind: nonsense\n')
    const seen = await tell(['config', 'check', file], { columns: 80 })
    expect(longest(seen.err)).toBeLessThanOrEqual(80)
    const plain = await tell(['config', 'check', file])
    expect(longest(plain.err)).toBeGreaterThan(80)
    const flat = (text: string): string => Bun.stripANSI(text).replaceAll(/\s+/g, ' ')
    expect(flat(seen.err)).toBe(flat(plain.err))
  })

  it('is bad, and every problem is told with its place and code 6', async () => {
    const file = write('bad.yaml', 'listen:\n  port: 70000\nsupliers: {}\n')
    const { code, out, err } = await tell(['config', 'check', file])
    expect(code).toBe(6)
    expect(out).toBe('')
    expect(err).toContain('bad.yaml:2:')
    expect(err).toContain('bad.yaml:3:1')
    const machine = await tell(['config', 'check', file, '--json'])
    expect(JSON.parse(machine.err)).toMatchObject({
      error: { code: 'configuration_invalid' },
      problems: [{ line: 2 }, { line: 3, column: 1 }],
      exit_code: 6,
    })
  })

  it('asks for a supplier that does not exist, which only the suppliers know', async () => {
    const file = write('kind.yaml', 'suppliers:\n  main:\n    kind: nonsense\n')
    const { code, err } = await tell(['config', 'check', file])
    expect(code).toBe(6)
    expect(err).toContain('kind.yaml:3:')
  })

  it('that is named and not there is no good one', async () => {
    const { code, err } = await tell(['config', 'check', join(folder.path, 'none.yaml')])
    expect(code).toBe(6)
    expect(err).toContain('none.yaml')
  })

  it('is written once, for its owner alone, and is good', async () => {
    const file = join(folder.path, 'first.yaml')
    const first = await tell(['config', 'init', file])
    expect(first.code).toBe(0)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect((await tell(['config', 'check', file])).code).toBe(0)
    writeFileSync(file, 'mine')
    const again = await tell(['config', 'init', file])
    expect(again.code).toBe(1)
    expect(again.err).toContain('exists already')
    expect(readFileSync(file, 'utf8')).toBe('mine')
    expect((await tell(['config', 'init', file, '--force'])).code).toBe(0)
    expect(readFileSync(file, 'utf8')).not.toBe('mine')
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('is not written through a link that leads to nothing yet', async () => {
    const link = join(folder.path, 'link.yaml')
    const target = join(folder.path, 'target.yaml')
    symlinkSync(target, link)
    const { code, err } = await tell(['config', 'init', link])
    expect(code).toBe(1)
    expect(err).toContain('exists already')
    expect(existsSync(target)).toBe(false)
  })

  it('is not written through a link that somebody laid beside it', async () => {
    const file = join(folder.path, 'forced.yaml')
    const target = join(folder.path, 'precious')
    writeFileSync(target, 'mine')
    symlinkSync(target, `${file}.new`)
    writeFileSync(file, 'old')
    expect((await tell(['config', 'init', file, '--force'])).code).toBe(0)
    expect(readFileSync(target, 'utf8')).toBe('mine')
    expect(readFileSync(file, 'utf8')).toContain('suppliers:')
    const beside = readdirSync(folder.path).filter((name) => name.startsWith('forced.yaml'))
    expect(beside.toSorted()).toEqual(['forced.yaml', 'forced.yaml.new'])
  })

  it('is bad where a variable of a supplier is, also when there is no file', async () => {
    const file = write('found.yaml', 'discover: true\n')
    const environment = { OPENAI_API_KEY: 'sk-canary\u201d' }
    const { code, err } = await tell(['config', 'check', file], { environment })
    expect(code).toBe(6)
    expect(err).toContain('OPENAI_API_KEY holds ')
    expect(err).not.toContain('canary')
  })

  it('gets the suppliers that a person chooses, those with a variable already chosen', async () => {
    const file = join(folder.path, 'chosen.yaml')
    const environment = { MISTRAL_API_KEY: 'canary' }
    const asked = await tell(['config', 'init', file], {
      environment,
      columns: 80,
      answers: ['99', '1 77', '16,17', ''],
    })
    expect(asked.code).toBe(0)
    expect(asked.err).toContain('77 is none of the numbers')
    expect(asked.err).toContain('[x] openai ')
    expect(asked.err).toMatch(/\[ \] azure +write your address/)
    // The catalogue has nothing of it, and a file without its models would be refused.
    expect(asked.err).toMatch(/\[ \] jina +write its models and their prices/)
    expect(asked.err).toMatch(/\[x\] openai-compatible +a server of your own/)
    const keys = { OPENAI_API_KEY: 'k', AZURE_OPENAI_API_KEY: 'k', ...environment }
    expect((await tell(['config', 'check', file], { environment: keys })).code).toBe(0)
    expect(asked.err).toContain('[x] mistral')
    expect(asked.err).toContain('MISTRAL_API_KEY is set')
    expect(asked.err).toContain('99 is none of the numbers')
    const text = readFileSync(file, 'utf8')
    expect(text).toContain('${MISTRAL_API_KEY}')
    expect(text).not.toContain('canary')
    const left = await tell(['config', 'init', join(folder.path, 'left.yaml')], { columns: 80 })
    expect(left.code).toBe(130)
    expect(existsSync(join(folder.path, 'left.yaml'))).toBe(false)
  })
})
