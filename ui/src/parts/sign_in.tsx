// Asks for a token when the service wants one. It is kept in this tab only.

import { useState } from "preact/hooks";
import { isToken, token, useToken } from "../base/token";

export function SignIn({ reason }: { readonly reason: string }) {
  const [typed, setTyped] = useState("");
  const [slip, setSlip] = useState(false);
  const again = token.get() !== "";
  return (
    <form
      class="sign-in panel"
      onSubmit={(event) => {
        event.preventDefault();
        const text = typed.trim();
        setSlip(text !== "" && !isToken(text));
        if (isToken(text)) useToken(text);
      }}
    >
      <h1>Sign in</h1>
      <p>{again ? reason : "This scheduler answers only callers whom it knows."}</p>
      <label>
        Token
        <input
          type="password"
          value={typed}
          autocomplete="off"
          autofocus
          required
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <div role="status">
        {slip && <p class="problem">No token has spaces or letters like these: copy it again.</p>}
      </div>
      <p class="faint">
        The token of an identity that may read. This tab keeps it until it is closed; nothing else does.
      </p>
      <button type="submit">Sign in</button>
    </form>
  );
}
