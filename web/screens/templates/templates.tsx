/** Templates of an account: sets of records with variables. They are edited as YAML, and applied to zones after a preview. */

import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { ListState, ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { AccountChoice, NoAccount, useAccount } from '../../parts/account.js';
import { Delete } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { Empty, ErrorNote } from '../../parts/notes.js';
import { RowButton } from '../../parts/row-button.js';
import type { ScreenProps } from '../../screen.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { DnsTemplate } from '../../types.js';
import { Apply } from './apply.js';
import { Editor } from './editor.js';

/** What is open below the list: the editor of a template or of a new one, or its application. */
type Open = { readonly part: 'edit' | 'apply'; readonly id: string } | { readonly part: 'new'; readonly id: undefined };

export default function Templates(_: ScreenProps) {
  const chosen = useAccount();
  const { accounts, account } = chosen;
  const writes = mayWrite(usePermissions(), 'dns');
  return (
    <>
      <div class="head">
        <h1>Templates</h1>
        <AccountChoice accounts={accounts} account={account} />
      </div>
      <NoAccount chosen={chosen} what="templates" />
      {account && <List key={account.id} base={`/accounts/${account.id}/dns_templates`} writes={writes} />}
    </>
  );
}

function List({ base, writes }: { readonly base: string; readonly writes: boolean }) {
  const loaded = useLoad<DnsTemplate[]>(base);
  const [open, setOpen] = useState<Open>();
  const sending = useSending(loaded.reload);
  const templates = loaded.answer?.result ?? [];
  const template = templates.find(({ id }) => id === open?.id);
  const saved = (): void => {
    setOpen(undefined);
    loaded.reload();
  };
  return (
    <>
      <ListState loaded={loaded} what="templates" />
      {loaded.answer && templates.length === 0 && !open && (
        <Empty title="There are no templates yet">
          <p>
            A template is a set of records with variables. It is applied to one zone or many, and again when it changes.
          </p>
        </Empty>
      )}
      <ListTable
        label="List of templates"
        columns={['Name', 'Records', 'Variables', 'Description']}
        numbers={['Records']}
        actions={writes}
        items={templates}
        keyOf={({ id }) => id}
        row={({ id, name, records, variables, description }) => (
          <tr>
            <th scope="row">{name}</th>
            <td class="number">{records.length}</td>
            <td class="mono">{variables.map((variable) => variable.name).join(', ')}</td>
            <td>{description}</td>
            {writes && (
              <td class="row-actions">
                <RowButton verb="Apply" what={name} onClick={() => setOpen({ part: 'apply', id })} />
                <RowButton verb="Edit" what={name} onClick={() => setOpen({ part: 'edit', id })} />
                <Delete what={name} quiet path={`${base}/${id}`} sending={sending} />
              </td>
            )}
          </tr>
        )}
      />
      {sending.error && <ErrorNote error={sending.error} />}
      {writes && !open && (
        <Button class="primary" onClick={() => setOpen({ part: 'new', id: undefined })} text="New template" />
      )}
      {open?.part === 'apply' && template && (
        <Apply key={open.id} path={`${base}/${open.id}`} template={template} onClose={() => setOpen(undefined)} />
      )}
      {open && open.part !== 'apply' && (
        <Panel title={template ? `Edit ${template.name}` : 'New template'}>
          <Editor
            key={open.id ?? 'new'}
            base={base}
            template={template}
            onSaved={saved}
            onCancel={() => setOpen(undefined)}
          />
        </Panel>
      )}
      <Curl request={{ method: 'GET', path: base }} />
    </>
  );
}
