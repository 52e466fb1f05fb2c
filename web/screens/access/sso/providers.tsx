/** The identity providers of this server: whether they answer, and for whom they create users. */

import { useState } from 'preact/hooks';
import { call } from '../../../api.js';
import { Button } from '../../../kit/button.js';
import { ListState, ListTable } from '../../../kit/list.js';
import { useLoad, useSending } from '../../../load.js';
import { Delete } from '../../../parts/confirm.js';
import { Copyable, Curl } from '../../../parts/curl.js';
import { Dialog } from '../../../parts/dialog.js';
import { Facts, Panel } from '../../../parts/facts.js';
import { Empty, ErrorNote } from '../../../parts/notes.js';
import { RowButton } from '../../../parts/row-button.js';
import type { Provider } from '../../../types.js';
import { ProviderForm } from './provider-form.js';

const PATH = '/oidc_providers';
const CREATES = { never: 'nobody', mapped: 'members of mapped groups', always: 'everybody' } as const;

interface Tested {
  readonly name: string;
  readonly endpoints: Readonly<Record<string, unknown>>;
}

export function Providers() {
  const { answer, error, reload } = useLoad<Provider[]>(PATH);
  /** `new`: the form for a new one. */
  const [edited, setEdited] = useState<Provider | 'new'>();
  const [tested, setTested] = useState<Tested>();
  const sending = useSending(reload);
  const test = ({ id, name }: Provider): void =>
    void sending.run(async () => {
      setTested(undefined);
      const { result } = await call<Pick<Tested, 'endpoints'>>('POST', `${PATH}/${id}/test`);
      setTested({ name, ...result });
    });
  const done = (): void => {
    setEdited(undefined);
    reload();
  };
  return (
    <>
      {edited !== 'new' && (
        <div class="tools">
          <Button class="primary" onClick={() => setEdited('new')} text="Add a provider" />
        </div>
      )}
      {edited === 'new' && (
        <Panel title="New provider">
          <ProviderForm onDone={done} onCancel={() => setEdited(undefined)} />
        </Panel>
      )}
      <ListState loaded={{ answer, error, reload }} what="providers" />
      {sending.error && <ErrorNote error={sending.error} />}
      {answer?.result.length === 0 && edited !== 'new' && (
        <Empty title="There are no providers yet">
          <p>People can sign in with Keycloak, authentik, Entra, Dex and others that speak OpenID Connect.</p>
        </Empty>
      )}
      <ListTable
        label="Providers"
        columns={['Name', 'Creates users for', 'Redirect address']}
        actions
        items={answer?.result ?? []}
        keyOf={({ id }) => id}
        row={(provider) => (
          <tr>
            <th scope="row">
              <bdi>{provider.name}</bdi>
              <div class="muted small long">{provider.issuer}</div>
            </th>
            <td data-name="Makes users of">{CREATES[provider.creates]}</td>
            <td class="long">
              {provider.callback === null ? (
                'needs the setting public-url'
              ) : (
                <Copyable text={provider.callback} label={`redirect address of ${provider.name}`} />
              )}
            </td>
            <td class="row-actions">
              <RowButton verb="Test" what={provider.name} busy={sending.busy} onClick={() => test(provider)} />
              <RowButton verb="Change" what={provider.name} onClick={() => setEdited(provider)} />
              <Delete what={provider.name} quiet path={`${PATH}/${provider.id}`} sending={sending} />
            </td>
          </tr>
        )}
      />
      {tested && <Answered tested={tested} />}
      {edited !== undefined && edited !== 'new' && (
        <Dialog title={`The provider ${edited.name}`} onClose={() => setEdited(undefined)}>
          <ProviderForm provider={edited} onDone={done} onCancel={() => setEdited(undefined)} />
        </Dialog>
      )}
      <Curl
        request={{ method: 'GET', path: PATH }}
        others={{ 'Test one': { method: 'POST', path: `${PATH}/ID/test` } }}
      />
    </>
  );
}

/** Metadata of a provider that helps when its sign-in fails. */
const TOLD = [
  ['Issuer', 'issuer'],
  ['Sign-in', 'authorization_endpoint'],
  ['Keys', 'jwks_uri'],
  ['Signatures', 'id_token_signing_alg_values_supported'],
  ['Scopes', 'scopes_supported'],
  ['Claims', 'claims_supported'],
] as const;

function Answered({ tested: { name, endpoints } }: { readonly tested: Tested }) {
  return (
    <Panel title={`${name} answers`}>
      <Facts
        facts={TOLD.flatMap(([title, member]) => {
          const value = endpoints[member];
          if (value === undefined) return [];
          return [{ name: title, value: Array.isArray(value) ? value.join(', ') : String(value) }];
        })}
      />
    </Panel>
  );
}
