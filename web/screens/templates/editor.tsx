/** A template as YAML. */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, BASE, call } from '../../api.js';
import { Form, LinesField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import type { DnsTemplate } from '../../types.js';

const YAML = 'application/yaml';
const BEGINNING = `name: web
description: A site
variables:
  - name: ip
    type: ipv4
records:
  - type: A
    name: "@"
    content: "{ip}"
  - type: CNAME
    name: www
    content: "{zone}"
`;

interface EditorProps {
  readonly base: string;
  /** Undefined: a new one. */
  readonly template: DnsTemplate | undefined;
  readonly onSaved: () => void;
  readonly onCancel: () => void;
}

/** The text of a template; undefined until it is there. */
function useText(base: string, template: DnsTemplate | undefined) {
  const [text, setText] = useState(template ? undefined : BEGINNING);
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    if (!template) return;
    readText(`${base}/${template.id}/export`).then(setText, (caught) => {
      setError(
        caught instanceof ApiError ? caught : new ApiError(0, [{ code: 0, message: 'The server cannot be reached.' }]),
      );
    });
  }, []);
  return { text, setText, error };
}

async function readText(path: string): Promise<string> {
  const answer = await fetch(BASE + path, { credentials: 'same-origin' });
  if (answer.ok) return answer.text();
  throw new ApiError(answer.status, (await answer.json()).errors);
}

export function Editor({ base, template, onSaved, onCancel }: EditorProps) {
  const { text, setText, error } = useText(base, template);
  const sending = useSending();
  if (error) return <ErrorNote error={error} />;
  if (text === undefined) return <Loading what="the template" />;
  const path = `${base}/import?replace=${template !== undefined}`;
  const isSameName = template !== undefined && /^name: *(.*?) *$/m.exec(text)?.[1] === template.name;
  const headers = { 'content-type': YAML, ...(isSameName && { 'if-match': `"${template.version}"` }) };
  const submit = (): void =>
    void sending.run(async () => {
      await call('POST', path, { headers, body: new Blob([text], { type: YAML }) });
      onSaved();
    });
  return (
    <Form onSubmit={submit} sending={sending} verb="Save the template" doing="Saving…" onCancel={onCancel}>
      <LinesField
        label="Template as YAML"
        hint="Variables have the types label, name, ipv4, ipv6, integer and text; {zone} is the name of the zone. Under another name, it is saved as another template."
        rows={Math.min(30, Math.max(14, text.split('\n').length))}
        spellcheck={false}
        dir="ltr"
        value={text}
        onChange={setText}
      />
      <Curl request={{ method: 'POST', path, headers, file: 'template.yaml' }} />
    </Form>
  );
}
