/** `allow-networks`: networks, each with its purposes. */
import t from 'tap';
import { printIP } from '../../src/base/ip.js';
import { allowedNetworks, reachSettings, replacedSettings } from '../../src/config/allowed-networks.js';
import { PURPOSES } from '../../src/egress/egress.js';

const setting = reachSettings.allowNetworks;
const ALL = [...PURPOSES];

function read(value: string | string[], older: readonly string[] = []): (string | string[])[][] {
  const allowNetworks = setting.parse(value);
  return allowedNetworks({ allowNetworks, edgeAllowOriginCidrs: older }).map(({ network, purposes }) => [
    `${printIP(network.address)}/${network.bits}`,
    [...purposes],
  ]);
}

t.test('networks and purposes', async (t) => {
  t.strictSame(read(''), []);
  t.strictSame(setting.parse(undefined), []);
  t.strictSame(read('10.0.0.0/8:origins,transfers'), [['10.0.0.0/8', ['origins', 'transfers']]]);
  t.strictSame(read('10.0.0.0/8'), [['10.0.0.0/8', ALL]]);
  t.strictSame(read('10.0.0.0/8:origins,transfers,192.168.0.0/16,fd00::/8:ds-queries'), [
    ['10.0.0.0/8', ['origins', 'transfers']],
    ['192.168.0.0/16', ALL],
    ['fd00::/8', ['ds-queries']],
  ]);
  t.strictSame(read(' 10.0.0.5 : origins , ds-queries '), [['10.0.0.5/32', ['origins', 'ds-queries']]]);
  t.strictSame(read(['10.0.0.0/8:origins,transfers', '::1']), [
    ['10.0.0.0/8', ['origins', 'transfers']],
    ['::1/128', ALL],
  ]);
});

t.test('IPv6 networks contain colons', async (t) => {
  t.strictSame(read('fc00::/7:transfers'), [['fc00::/7', ['transfers']]]);
  t.strictSame(read('fd00::5:origins'), [['fd00::5/128', ['origins']]]);
  t.strictSame(read('::1:origins'), [['::1/128', ['origins']]]);
  t.strictSame(read('::'), [['::/128', ALL]]);
  t.strictSame(read('::ffff:10.0.0.0/104:origins'), [['10.0.0.0/8', ['origins']]]);
});

t.test('the same twice is not a fault', async (t) => {
  t.strictSame(read('10.0.0.0/8:origins,origins,10.0.0.0/8:origins'), [
    ['10.0.0.0/8', ['origins', 'origins']],
    ['10.0.0.0/8', ['origins']],
  ]);
});

t.test('everything else is refused, and says what was meant', async (t) => {
  const faults: readonly (readonly [string, RegExp])[] = [
    ['10.0.0.0/8:orgins', /^'orgins' is not a purpose; did you mean 'origins'\?$/],
    ['10.0.0.0/8:orgins,transfers', /^'orgins' is not a purpose; did you mean 'origins'\?$/],
    ['10.0.0.0/8:origins,transfer', /^'transfer' is not a purpose; did you mean 'transfers'\?$/],
    ['10.0.0.0/8:Origins', /did you mean 'origins'\?/],
    ['10.0.0.0/8:pigeons', /^'pigeons' is not a purpose; the purposes are origins, transfers, /],
    ['10.0.0.0/8:', /^expected a purpose after ':'/],
    ['10.0.0.0/8:origins,', /^expected a purpose after ':'/],
    ['origins', /^expected a network before 'origins', such as 10\.0\.0\.0\/8:origins$/],
    ['10.0.0.0/8,origins', /^expected ':' between 10\.0\.0\.0\/8 and 'origins', as in 10\.0\.0\.0\/8:origins$/],
    ['10.0.0.0/33', /^expected a network such as 10\.0\.0\.0\/8, found '10\.0\.0\.0\/33'$/],
    ['fc00::/129:origins', /^expected a network/],
    ['010.0.0.0/8', /^expected a network/],
    ['fe80::1%eth0', /^expected a network/],
    ['origin=10.0.0.0/8', /^expected a network/],
    ['example.com', /^expected a network/],
    ['10.0.0.0/8:origins;transfers', /is not a purpose/],
  ];
  for (const [text, message] of faults) {
    const result = setting.safeParse(text);
    t.notOk(result.success, text);
    t.strictSame(
      result.error?.issues.map((issue) => message.test(issue.message)),
      [true],
      `${text}: ${result.error?.issues.map((issue) => issue.message)}`,
    );
  }
});

t.test('the older setting stands for origins and checks', async (t) => {
  t.strictSame(read('', ['127.0.0.0/8']), [['127.0.0.0/8', ['origins', 'http-checks']]]);
  t.match(replacedSettings({ edgeAllowOriginCidrs: ['127.0.0.0/8', '::1/128'] }), [
    /--allow-networks 127\.0\.0\.0\/8:origins,http-checks,::1\/128:origins,http-checks/,
  ]);
  t.strictSame(replacedSettings({ edgeAllowOriginCidrs: [] }), []);
});
