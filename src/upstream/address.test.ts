// Every way that is known to write an address which is not where it seems to be, beside the plain ones
// that must pass.
import { describe, expect, it } from 'bun:test'
import { checkOrigin, isAllowed, isIpAddress } from './address.ts'

/** What passes: always, only where the operator allows private addresses, or never. */
const ADDRESSES = {
  always: [
    'https://api.openai.com',
    'https://api.openai.com/',
    'https://API.OpenAI.com',
    'https://api.openai.com:443',
    'https://my-resource.openai.azure.com',
    'https://models.example.com:8443/v1',
    'https://example.com/openai/v1/',
    'https://xn--exmple-cua.com',
    'https://8.8.8.8',
    'https://11.0.0.1',
    'https://100.63.255.255',
    'https://100.128.0.1',
    'https://172.15.255.255',
    'https://172.32.0.1',
    'https://192.167.1.1',
    'https://223.255.255.254',
    'https://[2606:4700::6810:84e5]',
    'https://[::ffff:8.8.8.8]',
    'https://[64:ff9b::8.8.8.8]',
    'https://[2002:808:808::1]',
    'https://local.example.com',
    'https://internal-models.example.com',
  ],
  private: [
    'http://api.openai.com',
    'http://gpu:8000/v1',
    'https://gpu',
    'http://localhost:11434',
    'https://LOCALHOST',
    'https://a.localhost',
    'https://models.local',
    'https://models.internal',
    'https://gateway.default.svc',
    'https://gateway.default.svc.cluster.local',
    'https://nas.home.arpa',
    'https://127.0.0.1',
    'https://127.255.255.254',
    'https://10.0.0.1',
    'https://10.255.255.255',
    'https://172.16.0.1',
    'https://172.31.255.255',
    'https://192.168.1.1',
    'https://100.64.0.1',
    'https://100.127.255.255',
    'https://169.254.1.1',
    'https://192.0.2.1',
    'https://198.18.0.1',
    'https://198.51.100.7',
    'https://203.0.113.9',
    'https://[::1]',
    'https://[0:0:0:0:0:0:0:1]',
    'https://[fc00::1]',
    'https://[fd12:3456::1]',
    'https://[fe80::1]',
    'https://[fec0::1]',
    'https://[2001:db8::1]',
    'https://[3fff:fff::1]',
    'https://[2001::1]',
    'https://[100::1]',
    'https://[::ffff:127.0.0.1]',
    'https://[::ffff:a00:1]',
    'https://[::127.0.0.1]',
    'https://[::8.8.8.8]',
    'https://[64:ff9b::10.0.0.1]',
    'https://[64:ff9b:1::8.8.8.8]',
    'https://[2002:7f00:1::1]',
    'https://[2002:c0a8:101::1]',
  ],
  never: [
    'https://169.254.169.254',
    'http://169.254.169.254/latest/meta-data',
    'http://169.254.170.2',
    'http://100.100.100.200',
    'http://168.63.129.16',
    'https://metadata.google.internal',
    'http://metadata',
    'http://METADATA.goog',
    'http://[fd00:ec2::254]',
    'http://[::ffff:169.254.169.254]',
    'http://[::169.254.169.254]',
    'http://[64:ff9b::a9fe:a9fe]',
    'http://[2002:a9fe:a9fe::1]',
    'http://0.0.0.0:8080',
    'http://0.1.2.3',
    'http://[::]',
    'http://255.255.255.255',
    'http://240.0.0.1',
    'http://224.0.0.1',
    'http://[ff02::1]',
    'http://2130706433',
    'http://2852039166',
    'http://0x7f000001',
    'http://0x7f.1',
    'http://0177.0.0.1',
    'http://127.1',
    'http://010.0.0.1',
    'http://127.0.0.1.',
    'http://localhost.',
    'https://api.openai.com.',
    'https://256.1.1.1',
    'https://1.2.3.4.5',
    'http://[fe80::1%25eth0]',
    'http://[fe80::1%eth0]',
    'http://[::1',
    'http://①②⑦.0.0.1',
    'https://ⓛocalhost',
    'https://exämple.com',
    'https://example。com',
    'https://loc\u00adalhost',
    'https://127%2e0.0.1',
    'https://ex%61mple.com',
    'https://user:hush@api.openai.com',
    'https://hush@api.openai.com',
    'https://api.openai.com@evil.example.com',
    'https://api.openai.com\\@evil.example.com',
    'https://api.openai.com?x=1',
    'https://api.openai.com/#x',
    'https://api.openai.com/v1?key=hush',
    ' https://api.openai.com',
    'https://api.openai.com\n',
    'https://\tapi.openai.com',
    'https://api.openai.com/v1/../admin',
    'https://api.openai.com//v1',
    'https://api.openai.com/a%2fb',
    'https://api.openai.com:99999',
    'https://api.openai.com:x',
    'https:api.openai.com',
    'https:/api.openai.com',
    '//api.openai.com',
    'api.openai.com',
    'ftp://api.openai.com',
    'file:///etc/passwd',
    'javascript://api.openai.com',
    'https://',
    'https:///v1',
    '',
  ],
}

function passes(text: string, allowPrivate: boolean): boolean {
  return 'origin' in checkOrigin(text, { allowPrivate })
}

describe('an origin', () => {
  it.each(ADDRESSES.always)('%j passes', (text) => {
    expect(passes(text, false)).toBe(true)
    expect(passes(text, true)).toBe(true)
  })

  it.each(ADDRESSES.private)('%j passes where private addresses are allowed', (text) => {
    expect(passes(text, false)).toBe(false)
    expect(passes(text, true)).toBe(true)
  })

  it.each(ADDRESSES.never)('%j never passes', (text) => {
    expect(passes(text, false)).toBe(false)
    expect(passes(text, true)).toBe(false)
  })

  it('is taken apart as it will be called', () => {
    const rules = { allowPrivate: true }
    expect(checkOrigin('http://GPU:8000/v1/', rules)).toEqual({
      origin: 'http://gpu:8000',
      host: 'gpu',
      prefix: '/v1',
    })
    expect(checkOrigin('https://[::1]:8443', rules)).toEqual({
      origin: 'https://[::1]:8443',
      host: '::1',
      prefix: '',
    })
    expect(checkOrigin('https://example.com:443/', rules)).toEqual({
      origin: 'https://example.com',
      host: 'example.com',
      prefix: '',
    })
  })

  it('that is refused is told why, without its text', () => {
    for (const text of [...ADDRESSES.never, ...ADDRESSES.private]) {
      const checked = checkOrigin(text, { allowPrivate: false })
      if (!('reason' in checked)) throw new Error(`${text} passed`)
      expect(checked.reason).toMatch(/^(is|has|holds|spells) /)
      expect(checked.reason).not.toContain('hush')
    }
  })

  it('of a private network is told how to mean it', () => {
    for (const text of ['http://gpu:8000', 'https://10.0.0.1', 'http://api.openai.com'])
      expect(checkOrigin(text, { allowPrivate: false })).toMatchObject({
        reason: expect.stringContaining('allow_private: true'),
      })
  })
})

describe('an address that a name leads to', () => {
  it.each(['8.8.8.8', '2606:4700::6810:84e5', '::ffff:8.8.8.8'])('%s may be called', (address) => {
    expect(isAllowed(address, { allowPrivate: false })).toBe(true)
  })

  it.each(['127.0.0.1', '::1', '::ffff:10.0.0.1', 'fe80::1', 'fd00::1', '192.168.0.1'])(
    '%s may be called where that is allowed',
    (address) => {
      expect(isAllowed(address, { allowPrivate: false })).toBe(false)
      expect(isAllowed(address, { allowPrivate: true })).toBe(true)
    },
  )

  it.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    'fe80::1%eth0',
    '1:2',
    '::1::2',
    ':::',
    '0',
    '',
    'api.openai.com',
  ])('%j is never called', (address) => {
    expect(isAllowed(address, { allowPrivate: false })).toBe(false)
    expect(isAllowed(address, { allowPrivate: true })).toBe(false)
  })

  it('is told from a name', () => {
    for (const host of ['8.8.8.8', '::1', 'fd00::1']) expect(isIpAddress(host)).toBe(true)
    for (const host of ['gpu', 'example.com', '1.2.3']) expect(isIpAddress(host)).toBe(false)
  })
})
