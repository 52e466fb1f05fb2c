/** Buckets of an account. */

import { useState } from 'preact/hooks';
import { pathWith } from '../../api.js';
import { LineForm, TextField } from '../../kit/form.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { AccountChoice, NoAccount, useAccount } from '../../parts/account.js';
import { Curl } from '../../parts/curl.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { Cell } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { oneWord } from '../../parts/typed.js';
import { Link } from '../../router.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { Bucket } from '../../types.js';

const MOST_SHOWN = 1000;

export default function Buckets() {
  const chosen = useAccount();
  const { accounts, account } = chosen;
  const base = account && `/accounts/${account.id}/r2/buckets`;
  const path = base && pathWith(base, { per_page: MOST_SHOWN });
  const { answer, error, reload } = useLoad<{ readonly buckets: readonly Bucket[] }>(path);
  const writes = mayWrite(usePermissions(), 'buckets');
  const buckets = answer?.result.buckets ?? [];
  return (
    <>
      <div class="head">
        <h1>Buckets</h1>
        <AccountChoice accounts={accounts} account={account} />
      </div>
      <NoAccount chosen={chosen} what="buckets" />
      {base && writes && <NewBucket base={base} onMade={reload} />}
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && account && <Loading what="buckets" />}
      {answer && buckets.length === 0 && (
        <Empty title="There are no buckets yet">
          <p>
            A bucket holds objects: files under a key, which an application reads and writes over HTTP.
            {writes && ' Name the first one above.'}
          </p>
        </Empty>
      )}
      <ListTable
        label="Buckets"
        columns={['Name', 'Created']}
        items={buckets}
        keyOf={({ name }) => name}
        row={(bucket) => (
          <tr>
            <th scope="row">
              <Link class="name" href={pathWith(`/buckets/${bucket.name}`, { account: account?.id })}>
                {bucket.name}
              </Link>
            </th>
            <Cell class="muted" name="Created" value={<Time at={bucket.creation_date} />} />
          </tr>
        )}
      />
      {base && path && (
        <Curl
          request={{ method: 'GET', path }}
          {...(writes && { others: { 'Create one': { method: 'POST', path: base, body: { name: 'assets' } } } })}
        />
      )}
    </>
  );
}

function NewBucket({ base, onMade }: { readonly base: string; readonly onMade: () => void }) {
  const [name, setName] = useState('');
  const sending = useSending(onMade);
  const submit = async (): Promise<void> => {
    const done = await sending.send('POST', base, { body: { name: oneWord(name) } });
    if (done) setName('');
  };
  return (
    <LineForm onSubmit={submit} sending={sending} verb="Create the bucket" doing="Creating…" primary>
      <TextField
        label="New bucket"
        required
        value={name}
        placeholder="assets"
        autocapitalize="none"
        onChange={setName}
      />
    </LineForm>
  );
}
