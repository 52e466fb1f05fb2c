/** The form of a new pool, with a monitor of its own. */
import { useState } from 'preact/hooks';
import { ChoiceField, Form, LinesField, TextField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Panel } from '../../parts/facts.js';
import { CHECKS, makePool, originsOf } from '../../parts/make-pool.js';

export function NewPool({ base, onMade }: { readonly base: string; readonly onMade: () => void }) {
  const [name, setName] = useState('');
  const [addresses, setAddresses] = useState('');
  const [check, setCheck] = useState('https');
  const sending = useSending();
  const submit = (): void => {
    void sending.run(async () => {
      await makePool(base, { name: name.trim(), addresses: originsOf(addresses), check });
      setName('');
      setAddresses('');
      onMade();
    });
  };
  return (
    <Panel title="New pool">
      <Form onSubmit={submit} sending={sending} verb="Create the pool" doing="Creating…">
        <TextField
          label="Name of the pool"
          required
          value={name}
          placeholder="web"
          autocapitalize="none"
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
