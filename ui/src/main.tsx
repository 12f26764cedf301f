// Where the pages begin.

import "./style/base.css";
import "./style/layout.css";
import "./style/parts.css";
import { render } from "preact";
import { App } from "./app";
import { followAddress } from "./base/place";
import { followTheme } from "./base/settings";

followTheme();
followAddress();
const root = document.getElementById("app");
if (root !== null) {
  root.textContent = "";
  render(<App />, root);
}
