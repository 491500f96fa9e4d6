// Draws what drawing.py describes: [tag, attributes, children or text, key]. Text becomes text nodes and attributes plain
// values; whatever could run or load something from elsewhere is left out here too.
const TAGS = new Set(["svg", "g", "rect", "circle", "ellipse", "path", "line", "polyline", "polygon", "text", "tspan", "title", "desc", "a"]);
const allowed = (name, value) =>
  /^[a-zA-Z][a-zA-Z-]*$/.test(name) && !/^on/i.test(name) && !(name.toLowerCase() === "href" && !/^([?#]|\/(?![\/\\]))/.test(value));

function build(node) {
  const [tag, attributes, inside, key] = node;
  if (!TAGS.has(tag)) return null;
  const props = key === undefined || key === null ? {} : { key };
  for (const [name, value] of Object.entries(attributes)) if (allowed(name, value)) props[name] = value;
  return Vue.h(tag, props, Array.isArray(inside) ? inside.map(build) : String(inside ?? ""));
}

export default {
  props: { nodes: Array, view: Array, label: String, kind: String, fixed: Boolean },
  render() {
    const [w, h] = this.view;
    const size = this.fixed ? { width: w, height: h } : {};
    return Vue.h("svg", { viewBox: `0 0 ${w} ${h}`, class: "drawing " + (this.kind || ""), role: "group", "aria-label": this.label, ...size }, this.nodes.map(build));
  },
};
