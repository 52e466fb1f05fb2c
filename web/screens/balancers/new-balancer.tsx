/** The form of a new load balancer, with a pool and a monitor of its own. */
import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { ChoiceField, Form, LinesField, TextField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Panel } from '../../parts/facts.js';
import { CHECKS, makePool, originsOf, takeBack } from '../../parts/make-pool.js';

interface NewProps {
  readonly path: string;
  /** Path of what the account has. */
  readonly account: string;
  /** Name of the zone. */
  readonly zone: string;
  /** What the form begins with. */
  readonly name: string;
  readonly address: string;
  readonly onMade: () => void;
}

export function NewBalancer({ path, account, zone, name: first, address, onMade }: NewProps) {
  const [name, setName] = useState(first);
  const [addresses, setAddresses] = useState(address && `${address}\n`);
  const [check, setCheck] = useState('https');
  const sending = useSending();
  const submit = (): void => {
    void sending.run(async () => {
      const full = fullName(name.trim(), zone);
      const pool = poolName(full);
      const made = await makePool(account, { name: pool, addresses: originsOf(addresses), check });
      const body = { name: full, default_pools: [made.pool], fallback_pool: made.pool };
      try {
        await call('POST', path, { body });
      } catch (error) {
        await takeBack(made.paths);
        throw error;
      }
      setName('');
      setAddresses('');
      onMade();
    });
  };
  return (
    <Panel title="New load balancer">
      <Form onSubmit={submit} sending={sending} verb="Create the load balancer" doing="Creating…">
        <TextField
          label="Name"
          required
          value={name}
          placeholder="www"
          autocapitalize="none"
          hint="Addresses and the CNAME of this name are not answered while it is enabled"
          onChange={setName}
        />
        <LinesField
          label="Addresses"
          required
          value={addresses}
          hint="One on each line: IPv4, IPv6, or a host name"
          placeholder="192.0.2.1"
          spellcheck={false}
          onChange={setAddresses}
        />
        <ChoiceField label="Health check" value={check} onChange={setCheck} choices={CHECKS} />
      </Form>
    </Panel>
  );
}

function fullName(name: string, zone: string): string {
  if (name === '@' || name === zone) return zone;
  return name.endsWith(`.${zone}`) ? name : `${name}.${zone}`;
}

/** Names of pools have no dots. */
function poolName(name: string): string {
  return name
    .replace('*', 'wildcard')
    .replace(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, 63);
}
